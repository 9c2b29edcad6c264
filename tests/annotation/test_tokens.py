"""The signed addresses by which annotators are known, and that logs do not keep them."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django.utils.module_loading import import_string

from annotation import tokens
from annotation.tokens import ExpiredToken, InvalidToken, VisitClaim
from tomannot.log_masking import MaskingHandler, mask_tokens

VISIT = VisitClaim(enrollment_id=7, visit_id=11, link_key="2x3fa")
LINK = (7, "2x3fa")


def test_a_token_says_what_was_signed() -> None:
    assert tokens.read_visit_token(tokens.visit_token(VISIT)) == VISIT
    assert tokens.read_personal_token(tokens.personal_token(*LINK)) == LINK
    identity_id, digest = tokens.read_address_token(tokens.address_token(7, "ada@example.org"))
    assert identity_id == 7
    assert tokens.is_digest_of(digest, "ada@example.org")
    assert not tokens.is_digest_of(digest, "eve@example.org")


def test_a_token_carries_no_personal_data() -> None:
    assert tokens.visit_token(VISIT).startswith("7-11-2x3fa.")
    assert tokens.personal_token(*LINK).startswith("7-2x3fa.")
    address = tokens.address_token(7, "ada@example.org")
    assert not any(part in address for part in ("@", "example"))


def test_a_changed_token_opens_nothing(subtests: pytest.Subtests) -> None:
    for position in [0, 3, -1]:
        with subtests.test(str(position)):
            token = list(tokens.visit_token(VISIT))
            token[position] = "8" if token[position] != "8" else "9"
            with pytest.raises(InvalidToken):
                tokens.read_visit_token("".join(token))


def test_nonsense_opens_nothing(subtests: pytest.Subtests) -> None:
    for token in ["", ".", "7", "7-11", "7-11.x.y", "7-11:x:y", "é", "7." + "A" * 43]:
        with subtests.test(token):
            with pytest.raises(InvalidToken):
                tokens.read_visit_token(token)
            with pytest.raises(InvalidToken):
                tokens.read_personal_token(token)
            with pytest.raises(InvalidToken):
                tokens.read_address_token(token)


def test_one_kind_of_token_is_not_the_other() -> None:
    with pytest.raises(InvalidToken):
        tokens.read_visit_token(tokens.personal_token(*LINK))
    with pytest.raises(InvalidToken):
        tokens.read_personal_token(tokens.visit_token(VISIT))
    with pytest.raises(InvalidToken):
        tokens.read_address_token(tokens.visit_token(VISIT))


def test_another_secret_key_makes_other_tokens(settings: Any) -> None:
    token = tokens.visit_token(VISIT)
    settings.SECRET_KEY = "another"
    with pytest.raises(InvalidToken):
        tokens.read_visit_token(token)


def test_a_visit_runs_out_and_a_personal_link_does_not(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit, personal = tokens.visit_token(VISIT), tokens.personal_token(*LINK)
    address = tokens.address_token(7, "ada@example.org")
    settings.VISIT_TOKEN_DAYS = 14
    now = timezone.now()

    def in_the_future(**ahead: int) -> None:
        later = now + timedelta(**ahead)
        monkeypatch.setattr("django.core.signing.time.time", later.timestamp)

    in_the_future(days=6)
    assert tokens.read_address_token(address)[0] == 7
    in_the_future(days=8)
    with pytest.raises(ExpiredToken):
        tokens.read_address_token(address)
    in_the_future(days=13)
    assert tokens.read_visit_token(visit) == VISIT
    in_the_future(days=15)
    with pytest.raises(ExpiredToken):
        tokens.read_visit_token(visit)
    in_the_future(days=1000)
    assert tokens.read_personal_token(personal) == LINK


def test_addresses_are_masked(subtests: pytest.Subtests) -> None:
    for text, masked in [
        ("GET /work/7-11.abc.def/stories/ HTTP/1.1", "GET /work/***/stories/ HTTP/1.1"),
        ("GET /join/7.abcdef/", "GET /join/***/"),
        ('"http://study.example/work/7-11.abc.def/" 200', '"http://study.example/work/***/" 200'),
        ("/app/work/7.a.b", "/app/work/***"),
        ("Not Found: /work/nonsense", "Not Found: /work/***"),
        ("GET /confirm/7.ab.cd/", "GET /confirm/***/"),
        ("GET /sign-in/?next=/invited/7-ab.cd/", "GET /sign-in/?next=/invited/***/"),
        ("GET /join/my-study/?PROLIFIC_PID=5f3a9c HTTP/1.1", "GET /join/***/?*** HTTP/1.1"),
        ("Bad Request: /join/my-study?p=5f3a9c", "Bad Request: /join/***?***"),
        ("GET /join/my-study/2/?workerId=A1&hitId=3B HTTP/1.1", "GET /join/***/2/?*** HTTP/1.1"),
        ("/studies/work/", "/studies/work/"),
        ("/framework/x", "/framework/x"),
    ]:
        with subtests.test(text):
            assert mask_tokens(text) == masked


def test_the_log_keeps_no_token(settings: Any) -> None:
    handler = settings.LOGGING["handlers"]["console"]
    assert import_string(handler["class"]) is MaskingHandler

    record = logging.makeLogRecord({"msg": "Not Found: %s", "args": ("/work/7-11.abc.def/",)})
    try:
        raise ValueError("Key (platform, person)=(prolific, 5f3a9c) already exists for ada@example.org")
    except ValueError:
        record.exc_info = sys.exc_info()
    lines = MaskingHandler().format(record).splitlines()
    assert (lines[0], lines[-1]) == (
        "Not Found: /work/***/",
        "ValueError: Key (platform, person)=(***) already exists for ***@***",
    )


def test_a_visit_for_a_platform_carries_its_work_session() -> None:
    claim = VisitClaim(enrollment_id=7, visit_id=11, link_key="2x3fa", session_id=5)
    for said in (claim, replace(claim, is_claimed=True)):
        assert tokens.read_visit_token(tokens.visit_token(said)) == said
