"""The pages of a human baseline, as every role in its study and as somebody of another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import actions
from annotation.rights import RIGHTS
from tests import builders
from tests.dashboard.baselines import drawn, released_study
from tests.dashboard.test_roles import FOR_MAKERS, OF_A_BASELINE, Role, client_of, member, user

pytestmark = pytest.mark.usefixtures("client")


@pytest.mark.django_db(transaction=True)  # a release is built in a transaction of its own
def test_the_pages_of_a_baseline_open_by_the_same_rights(settings: Any, tmp_path: Path) -> None:
    settings.RELEASES_ROOT = tmp_path
    release = released_study("pilot")
    studies = {"pilot": release.study, "questions": drawn(release)[0]}
    other = client_of(member(builders.make_study("other", opened=False), Role.OWNER))
    for page, (reading, posting, arguments) in OF_A_BASELINE.items():
        url = reverse(f"dashboard:{page}", args=arguments)
        assert other.get(url).status_code == 404
        assert f"next=/studies/{arguments[0]}/" in Client().get(url)["Location"]
        for role in Role:
            someone = user(f"{role}-at-{page}")
            actions.set_role(
                study=studies[arguments[0]], user=someone, role=role, by=None, now=timezone.now()
            )
            for may_make in (False, True) if page in FOR_MAKERS else (False,):
                if may_make:
                    someone.user_permissions.add(Permission.objects.get(codename="add_study"))
                client = client_of(someone)
                opens = reading in RIGHTS[role] and (may_make or page not in FOR_MAKERS)
                assert client.get(url).status_code == (200 if opens else 403)
                if posting:
                    opens = may_make and posting in RIGHTS[role]
                    assert client.post(url).status_code == (422 if opens else 403)
                    if role is Role.OWNER:
                        assert (url in client.get("/studies/pilot/").content.decode()) == opens
