"""People who join by a study's join link."""

from __future__ import annotations

import re
from typing import Any

from django.utils import timezone

from annotation.models import Enrollment, Study
from recruitment import actions
from recruitment.models import JoinLink
from tests.annotation.pages import Browser

PARTICIPANT = "5f3a9c0de1b2"
WAY_BACK = {"return_url": "https://app.example.org/done?cc={code}&p={participant}"}
CODE = re.compile(r"[A-Z0-9]{5}-[A-Z0-9]{5}")


def make_join_link(study: Study, **settings: Any) -> JoinLink:
    return actions.set_join_link(study=study, by=None, now=timezone.now(), **settings)


def come(participant: str = PARTICIPANT, slug: str = "study", parameter: str = "participant") -> Browser:
    browser = Browser()
    browser.open(f"/join/{slug}/?{parameter}={participant}")
    return browser


def joined(link: JoinLink, participant: str = PARTICIPANT) -> Enrollment:
    return actions.join(link=link, participant=participant, now=timezone.now())
