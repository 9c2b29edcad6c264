"""Open the recruitment pages of the study, and read them."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client
from django.urls import reverse

ACCOUNT = ("key_id", "secret", "endpoint", "notification_topic", "notification_password")


def address(page: str, *more: Any) -> str:
    return reverse(f"dashboard:{page}", args=["main", *more])


def words(client: Client, page: str, *more: Any) -> str:
    text = re.sub(r"<[^>]+>", " ", client.get(address(page, *more)).content.decode())
    return " ".join(text.split())


def filled(client: Client, page: str, *more: Any) -> dict[str, Any]:
    """What the form on a page would send as it stands."""
    form = client.get(address(page, *more)).context["form"]
    given = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in given.items() if value not in (None, False)}


def said(client: Client, page: str, *more: Any, **data: Any) -> str:
    """What a POST says on the page that it leads to."""
    response = client.post(address(page, *more), data, follow=True)
    assert response.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())
