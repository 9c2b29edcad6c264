"""Asking the API the way a program does: a token in a header, no cookie."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.models import ApiToken, Membership, Study
from api.problems import CONTENT_TYPE

EVERYTHING = tuple(ApiToken.Scope)


def member(study: Study | None, role: str = Membership.Role.OWNER, *, name: str = "") -> User:
    """An account, with a role in the study if there is one."""
    user = User.objects.create_user(name or f"{role}-{User.objects.count()}", password=None)
    if study:
        actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    return user


class Program:
    """A client with a token of its owner."""

    def __init__(
        self, owner: User, scopes: Iterable[str] = EVERYTHING, *, study: Study | None = None, days: int = 1
    ) -> None:
        now = timezone.now()
        self.token, self.secret = actions.make_api_token(
            owner=owner,
            name="script",
            scopes=list(scopes),
            expires_at=now + timedelta(days=days),
            study=study,
            by=owner,
            now=now,
        )
        self._client = Client(headers={"Authorization": f"Bearer {self.secret}"})

    def ask(self, method: str, path: str, *, data: Any = None, **options: Any) -> Any:
        """The response; ``data`` is sent as JSON unless ``content_type`` says otherwise."""
        if data is not None:
            options.setdefault("content_type", "application/json")
            options["data"] = data
        return self._client.generic(method, f"/api/v1/{path}", **_encoded(options))

    def let_faults_pass(self) -> None:
        """Have a fault of ours answered as it is to clients, and not raised in the test."""
        self._client.raise_request_exception = False

    def get(self, path: str, **options: Any) -> Any:
        return self.ask("GET", path, **options)

    def post(self, path: str, data: Any = None, **options: Any) -> Any:
        return self.ask("POST", path, data=data, **options)


def _encoded(options: dict[str, Any]) -> dict[str, Any]:
    data = options.pop("data", b"")
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return options | {"data": body}


def problem(response: Any, status: int) -> dict[str, Any]:
    """The body of a refusal, which must be a whole problem of this status."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == CONTENT_TYPE
    body: dict[str, Any] = response.json()
    assert body["status"] == status
    assert body["detail"]
    assert body["code"]
    return body
