"""Whatever is typed into addresses, forms and requests is answered, and never with an error of ours."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import example, given, strategies as st
from lxml import html

from accounts.actions import ensure_researcher
from accounts.views import LONGEST_NAME
from annotation.models import Enrollment, Study
from qualification import actions as qualification_actions
from recruitment import actions as recruitment_actions
from recruitment.links import personal_path, visit_path
from recruitment.models import LinkPayment
from tests import builders
from tests.api.client import Program, problem
from tests.dashboard.test_roles import PAGES
from tests.fuzz.near_valid import TEXTS, VALUES, as_json, changed, fuzzed, wounded

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("client", "world"),
    pytest.mark.filterwarnings("ignore::django.core.cache.backends.base.CacheKeyWarning"),  # not memcached
]
TYPED = st.sampled_from([text.encode(errors="surrogatepass") for text in TEXTS]) | st.binary(max_size=6)
NUL, HALF_PAIR = b"a\0b", b"\xed\xa0\x80"
FORM = "application/x-www-form-urlencoded"
QUERY = (
    "after", "before", "came_by", "changed", "differs", "dropped_by", "expert", "filter", "first",
    "kind", "lint", "list", "model", "next", "one_of_each", "only", "page", "platform", "queue", "role",
    "scenario", "second", "start", "state", "text", "type", "until", "verdict",
)  # fmt: skip
"""Names that pages read from addresses."""


@pytest.fixture(scope="module")
def world(module_transaction: None) -> Study:
    """An open study with people at every step, a join link, and an administrator called ada."""
    study = builders.make_study("main", stories=3, qualification=1, votes_per_story=2)
    ensure_researcher(username="ada", password="seven wet otters")
    _new, consented, testing = builders.invite(study, 3)
    for person in (consented, testing):
        builders.consent(person)
    qualification_actions.start_attempt(enrollment=testing, now=timezone.now())
    builders.vote(builders.qualified(study)[0])
    recruitment_actions.set_join_link(study=study, by=None, now=timezone.now())
    for person in Enrollment.objects.filter(study=study):
        recruitment_actions.arrive_by_link(enrollment=person, now=timezone.now())
    return study


@pytest.fixture(autouse=True)
def no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.rate_limits._counter", lambda *_: (0, f"test-{uuid.uuid4().hex}"))


def signed_in() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="ada", password="seven wet otters"))
    return client


def asked(client: Client, method: str, path: str, **options: Any) -> Any:
    """Return the answer, read to its end; what was done is undone. An error of ours is raised."""
    with transaction.atomic():
        response: Any = client.generic(method, path, **options)
        if response.streaming:
            b"".join(response.streaming_content)
        transaction.set_rollback(True)
    assert response.status_code < 500
    return response


def forms_in(response: Any, path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the address and the fields of every form on a page that is posted."""
    if response.streaming or not response.content or "html" not in response["Content-Type"]:
        return
    page: Any = html.document_fromstring(response.content)
    for form in page.iterfind(".//form[@method='post']"):
        fields = {name: value for name, value in form.form_values() if name != "csrfmiddlewaretoken"}
        named = form.xpath(".//input[@name]/@name | .//textarea/@name | .//button[@name]/@name")
        yield form.get("action") or path, dict.fromkeys(map(str, named), "") | fields


def write_into(data: st.DataObject, client: Client, path: str) -> None:
    """Type something into one field of a form of the page at this address, and send it."""
    found = list(forms_in(asked(client, "GET", path), path))
    if not found:
        return
    to, fields = data.draw(st.sampled_from(found))
    if fields:
        field = data.draw(st.sampled_from(sorted(fields)))
        send(client, to, fields | {field: data.draw(TYPED)})


def send(client: Client, path: str, fields: Mapping[str, str | bytes]) -> Any:
    return asked(client, "POST", path, data=urlencode(fields), content_type=FORM)


def researchers_pages() -> list[str]:
    person, story = Enrollment.objects.order_by("pk")[0].pseudonym, "story_00000_sev1"
    stands_for = {
        "the pseudonym of the only person in the study": person,
        "the id of a story that they answered": story,
    }
    return [
        reverse(f"dashboard:{name}", args=["main", *(stands_for.get(one, one) for one in arguments)])
        for name, (read, _write, arguments) in PAGES.items()
        if read and not any(one.startswith("the number") for one in arguments)
    ]  # fmt: skip


def visits() -> list[str]:
    """The addresses of everybody's visit."""
    people = Enrollment.objects.filter(study__slug="main").order_by("pk")
    return [visit_path(person.visits.order_by("pk")[0]) for person in people]


STEPS = (
    "", "consent/", "intake/", "stories/", "stories/skip/", "lease/", "stop/", "done/", "answers/",
    "answers/last/", "you/", "language/", "withdraw/", "forget/", "you/email/", "hand-in/", "qualification/",
    "qualification/1/", "qualification/review/", "qualification/result/", "qualification/practice/1/",
    "answers/1/",
)  # fmt: skip
FIELDS = (
    "assignment", "version", "decision", "held", "reason", "words", "_comment", "language", "receipt",
    "email", "instructions", "q1", "q2", "position",
)  # fmt: skip


@given(data=st.data())
@fuzzed(10)
def test_no_form_of_researchers_is_too_much(data: st.DataObject) -> None:
    write_into(data, signed_in(), data.draw(st.sampled_from(researchers_pages())))


@given(data=st.data(), query=st.dictionaries(st.sampled_from(QUERY), TYPED, min_size=1, max_size=4))
@fuzzed(10)
def test_no_query_of_researchers_is_too_much(data: st.DataObject, query: dict[str, bytes]) -> None:
    path = data.draw(st.sampled_from(researchers_pages()))
    asked(signed_in(), "GET", path, QUERY_STRING=urlencode(query))


@given(data=st.data(), part=TYPED)
@example(data=None, part=b"9" * 20)
@fuzzed(6)
def test_no_part_of_an_address_is_too_much(data: st.DataObject | None, part: bytes) -> None:
    client = signed_in()
    paths = researchers_pages() if data is None else [data.draw(st.sampled_from(researchers_pages()))]
    for path in paths:
        parts = path.split("/")
        place = len(parts) - 2 if data is None else data.draw(st.integers(2, max(2, len(parts) - 2)))
        asked(client, "GET", "/".join([*parts[:place], quote(part, safe=""), *parts[place + 1 :]]))


@given(data=st.data(), fields=st.dictionaries(st.sampled_from(FIELDS), TYPED, max_size=4))
@fuzzed(12)
def test_no_form_of_an_annotator_is_too_much(data: st.DataObject, fields: dict[str, bytes]) -> None:
    client, base = Client(), data.draw(st.sampled_from(visits()))
    step = data.draw(st.sampled_from(STEPS))
    send(client, base + step, fields)
    asked(client, "GET", base + step, QUERY_STRING=urlencode(fields))
    write_into(data, client, base + step)


@pytest.mark.parametrize("typed", [NUL, HALF_PAIR])
def test_a_comment_is_stored_whatever_was_typed(typed: bytes) -> None:
    (person,) = builders.qualified(Study.objects.get(slug="main"))
    held = builders.claim(person)
    path = visit_path(recruitment_actions.arrive_by_link(enrollment=person, now=timezone.now()))
    fields = {**builders.ALL_YES, "assignment": str(held.pk), "_comment": typed}
    response = Client().post(f"{path}stories/", urlencode(fields), content_type=FORM)
    assert response.status_code == 302
    assert held.votes.get().comment.words.isprintable()


OPEN = ("join/main/", "join/%s/", "join/main/%s/", "confirm/%s/", "invited/%s/", "work/%s/", "releases/%s/1/",
        "releases/main/1/files/%s", "releases/main/1/archive.%s", "again/", "sign-in/", "hooks/%s/live/",
        "hooks/mturk/%s/", "readyz", "metrics", "admin/%s/", "api/v1/%s/", "%s")  # fmt: skip
HEADERS = (
    "Accept", "Accept-Language", "Authorization", "Cookie", "HX-Current-URL", "HX-Request", "Host",
    "If-None-Match", "If-Modified-Since", "Range", "Referer", "X-Forwarded-For", "X-Request-ID", "User-Agent",
)  # fmt: skip


@given(
    path=st.sampled_from(OPEN),
    typed=TYPED,
    fields=st.dictionaries(st.sampled_from(["email", "username", "password", "next", "participant"]), TYPED),
    header=st.sampled_from(HEADERS),
    method=st.sampled_from(["GET", "POST"]),
)
@example(
    path="sign-in/",
    typed=b"",
    fields={"username": b"x" * 300, "password": b"x"},
    header="Accept",
    method="POST",
)
@example(
    path="sign-in/", typed=b"", fields={"username": NUL, "password": b"x"}, header="Accept", method="POST"
)
@fuzzed(40)
def test_nothing_that_anybody_can_send_is_too_much(
    path: str, typed: bytes, fields: dict[str, bytes], header: str, method: str
) -> None:
    sent = typed.replace(b"\r", b"").replace(b"\n", b"").decode("latin-1")
    options: dict[str, Any] = {"headers": {header: sent}} if sent else {}
    if method == "POST":
        options |= {"data": urlencode(fields), "content_type": FORM}
    else:
        options["QUERY_STRING"] = urlencode(fields)
    address = f"/{path}".replace("%s", quote(typed, safe=""))
    asked(Client(), method, address, **options)


def test_a_name_that_is_too_long_to_be_one_is_refused() -> None:
    response = Client().post("/sign-in/", {"username": "x" * (LONGEST_NAME + 1), "password": "x"})
    assert response.status_code == 200
    assert response.context["form"].errors["username"]


def test_ids_are_looked_up_whatever_else_is_in_the_list() -> None:
    path = reverse("dashboard:amounts_due_file", args=["main"])
    response: Any = signed_in().post(path, urlencode({"participants": NUL}), content_type=FORM)
    assert b"".join(response.streaming_content).decode().count("no work") == 2


TABLE = b"annotator,completion_code,paid_so_far,paid\r\nabc,,0.00,1.50\r\n"


@given(content=wounded(TABLE) | st.binary())
@example(content=b"annotator,paid\r\n" + b"x" * 200_000 + b",1")
@example(content=b"annotator,paid\r\n\0,1")
@fuzzed(8)
def test_no_table_of_payments_is_too_much(content: bytes) -> None:
    table = SimpleUploadedFile("a.csv", content)
    with transaction.atomic():
        path = reverse("dashboard:note_amounts_paid", args=["main"])
        response = signed_in().post(path, {"table": table, "token": str(uuid.uuid4()), "reason": "paid"})
        assert response.status_code == 422
        assert not LinkPayment.objects.exists()
        transaction.set_rollback(True)


BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("PATCH", "studies/main/"): {
        "title": "x", "contact": "a@example.org", "description": "", "votes_per_story": 3, "story_cap": 5,
        "most_votes": 5, "decided_by": "majority",
        "pay_rate": "1.00", "currency": "GBP", "story_language": "en", "serving_seed": 1, "skip_allowance": 1,
    },
    ("POST", "studies/"): {
        "slug": "new", "title": "x", "contact": "a@example.org", "consent": "x", "test": "none",
    },
    ("PUT", "studies/main/state/"): {"state": "paused", "campaigns": [1], "accepted": ["pay"]},
    ("POST", "studies/main/releases/"): {"filter": "all-agree", "number": 1},
}  # fmt: skip


@pytest.fixture(scope="module")
def program(world: Study) -> Program:
    return Program(ensure_researcher(username="ada", password="seven wet otters"))


@pytest.mark.parametrize("operation", BODIES, ids=lambda operation: " ".join(operation))
@given(data=st.data())
@fuzzed(6)
def test_no_body_of_a_program_is_too_much(
    program: Program, operation: tuple[str, str], data: st.DataObject
) -> None:
    good = BODIES[operation]
    deep = st.just(b"[" * 100_000)
    body = data.draw(wounded(as_json(good)) | changed(good).map(as_json) | VALUES.map(as_json) | deep)
    with transaction.atomic():
        assert program.ask(*operation, data=body).status_code < 500
        transaction.set_rollback(True)


@pytest.mark.parametrize("body", [b'{"\\ud800": 1}', b'{"title": "\\ud800"}', b'{"title": "\\u0000"}'])
def test_half_a_surrogate_pair_is_refused_by_name(program: Program, body: bytes) -> None:
    refused = problem(program.ask("PATCH", "studies/main/", data=body), 422)
    assert refused["errors"][0]["field"] in ("title", "?")


@given(name=st.sampled_from(TEXTS) | st.text(), row=wounded(json.dumps(builders.story_row(9)).encode()))
@fuzzed(8)
def test_no_upload_of_a_program_is_too_much(program: Program, name: str, row: bytes) -> None:
    query = urlencode({"name": name.encode(errors="surrogatepass"), "dry_run": "true"})
    with transaction.atomic():
        response = program.ask(
            "POST", f"studies/main/imports/?{query}", data=row, content_type="application/octet-stream"
        )
        assert response.status_code < 500
        transaction.set_rollback(True)


def test_a_personal_link_takes_no_language_that_is_none() -> None:
    path = personal_path(Enrollment.objects.order_by("pk")[0])
    for typed in (NUL, HALF_PAIR, b"x" * 5000):
        send(Client(), path, {"language": typed})
