"""Signed addresses: what Prolific really signed, for this page and workspace, and lately."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from recruitment.marketplace import Unreachable
from recruitment.prolific.arrivals import ExpiredSignature, InvalidSignature, StudyKeys, keys_of, read_signed
from tests.doubles.prolific import ProlificDouble
from tests.recruitment.prolific.conftest import OFFER, Lab

ENTRY = OFFER.entry_url


class Arrived(Lab):
    """Somebody has just been sent to a study with signed addresses."""

    def __init__(self, double: ProlificDouble) -> None:
        super().__init__(double, signs_addresses=True)
        self.study = self.publish()
        self.person = double.join()
        started = double.start(self.person, self.study)
        self.submission = started.submission
        self.token = token_of(started.url)
        self.claims = jwt.decode(self.token, options={"verify_signature": False})

    def read(self, token: str, *, entry_url: str = ENTRY) -> Any:
        return self.prolific.signed_arrival(token, entry_url=entry_url, now=self.platform.clock.now())

    def signed(self, **changes: Any) -> str:
        return self.platform.signer.token({**self.claims, **changes})


def token_of(url: str) -> str:
    return parse_qs(urlsplit(url).query)["prolific_token"][0]


@pytest.fixture
def arrived(double: ProlificDouble) -> Arrived:
    keys_of.cache_clear()  # another double may have had the same port
    return Arrived(double)


@pytest.mark.parametrize("keeps_parameters", [True, False])
def test_the_token_says_who_comes(double: ProlificDouble, arrived: Arrived, keeps_parameters: bool) -> None:
    double.platform.keeps_parameters = keeps_parameters
    claim = arrived.read(token_of(double.open_again(arrived.submission)))
    assert (claim.person, claim.posting, claim.remote_id) == (
        arrived.person,
        arrived.study,
        arrived.submission,
    )


FORGED: dict[str, Callable[[Arrived], str]] = {
    "a letter changed": lambda lab: lab.token[:-5] + ("A" if lab.token[-5] != "A" else "B") + lab.token[-4:],
    "no signature": lambda lab: jwt.encode(lab.claims, "", algorithm="none", headers={"kid": "study-key-1"}),
    "signed by HMAC with the public key": lambda lab: jwt.encode(
        lab.claims, str(lab.platform.signer.jwks()["keys"][0]["n"]), "HS256", headers={"kid": "study-key-1"}
    ),
    "a key that nobody has": lambda lab: jwt.encode(lab.claims, "x" * 32, "HS256", headers={"kid": "mine"}),
    "another issuer": lambda lab: lab.signed(iss="https://www.prolific.example"),
    "another page": lambda lab: lab.signed(aud="https://elsewhere.example/join/stories/1/?STUDY_ID=1"),
    "another study of ours": lambda lab: lab.signed(aud=ENTRY.replace("/1/", "/2/")),
    "another submission": lambda lab: lab.signed(sub="f" * 24),
    "another workspace": lambda lab: lab.signed(
        prolific={**lab.claims["prolific"], "workspace_id": "f" * 24}
    ),
    "no ids": lambda lab: lab.signed(prolific={"workspace_id": lab.platform.workspace_id}),
    "from the future": lambda lab: lab.signed(iat=lab.claims["iat"] + 600, exp=lab.claims["exp"] + 600),
    "never ending": lambda lab: lab.signed(exp="never"),
    "no token at all": lambda lab: "",
}


@pytest.mark.parametrize("what", FORGED)
def test_what_prolific_did_not_sign_for_us_is_refused(arrived: Arrived, what: str) -> None:
    arrived.read(arrived.token)
    with pytest.raises(InvalidSignature):
        arrived.read(FORGED[what](arrived))


def test_it_lasts_two_minutes_and_opening_again_gives_a_new_one(
    double: ProlificDouble, arrived: Arrived
) -> None:
    double.platform.clock.advance(minutes=2)
    arrived.read(arrived.token)  # clocks may differ by half a minute
    double.platform.clock.advance(minutes=1)
    with pytest.raises(ExpiredSignature):
        arrived.read(arrived.token)
    assert arrived.read(token_of(double.open_again(arrived.submission))).person == arrived.person


def test_keys_are_fetched_when_a_new_one_comes_up_and_once_a_day(
    double: ProlificDouble, arrived: Arrived
) -> None:
    def fetched() -> int:
        return double.seen.count("GET /.well-known/study/jwks.json")

    for _time in range(3):
        arrived.read(arrived.token)
    assert fetched() == 1
    double.platform.signer.rotate()
    newer = token_of(double.open_again(arrived.submission))
    with pytest.raises(
        InvalidSignature
    ):  # not before a minute is over: names of keys cost nothing to make up
        arrived.read(newer)
    double.platform.clock.advance(seconds=61)
    assert arrived.read(newer).person == arrived.person
    assert fetched() == 2
    double.platform.signer.rotate(withdraw_old=True)
    double.platform.clock.advance(days=1)
    arrived.platform.signer.names = ["study-key-3"]
    with pytest.raises(InvalidSignature):  # withdrawn, and noticed within a day
        arrived.read(arrived.platform.signer.token(arrived.claims, key="study-key-1"))
    assert fetched() == 3


def test_old_keys_serve_while_new_ones_cannot_be_had_but_not_for_long(arrived: Arrived) -> None:
    answers: list[Any] = [arrived.platform.signer.jwks()]

    def fetch() -> Any:
        if not answers:
            raise Unreachable("away")
        return answers.pop()

    keys, now = StudyKeys(fetch), arrived.platform.clock.now()
    assert keys.key("study-key-1", now=now)
    assert keys.key("study-key-1", now=now + timedelta(days=1, hours=12))
    with pytest.raises(Unreachable):
        keys.key("study-key-1", now=now + timedelta(days=2, hours=12))
    answers.append(arrived.platform.signer.jwks())
    with pytest.raises(Unreachable):  # who failed just now is not asked for every token that comes
        keys.key("study-key-1", now=now + timedelta(days=2, hours=12, seconds=30))
    assert answers
    soon = now + timedelta(days=2, hours=12, seconds=40)
    with pytest.raises(Unreachable):
        read_signed(arrived.token, keys, entry_url=ENTRY, workspace="", now=soon)
