"""docs/openapi.yaml is what the code says, and the API is what docs/openapi.yaml says."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from hypothesis import HealthCheck, given, settings

from accounts.actions import ensure_researcher
from accounts.rate_limits import Limit
from annotation.errors import ImportRefused
from annotation.models import Study
from api.openapi import PATH
from dashboard.figures import compute
from tests import builders
from tests.api.client import Program
from tests.publishing.support import published
from tomannot.wsgi import application

HELD = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
SAME_EVERY_TIME = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_the_schema_in_the_docs_is_that_of_the_code() -> None:
    written = StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=written)
    assert PATH.read_text(encoding="utf-8") == written.getvalue(), "run: make schema"


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    """One with stories, a refused file, votes, figures and a release."""
    settings.RELEASES_ROOT, settings.MEDIA_ROOT = tmp_path / "releases", tmp_path / "media"
    study = builders.make_study("main", stories=3, votes_per_story=1)
    builders.answer_everything(builders.qualified(study))
    with pytest.raises(ImportRefused):
        builders.import_rows(study, [{"story_id": "x"}], now=timezone.now())
    published(study)
    compute.make(study.pk, now=timezone.now())
    return study


@pytest.mark.parametrize("examples", [1, pytest.param(10, marks=pytest.mark.torture)])
@pytest.mark.django_db(transaction=True)  # a release is built in a transaction of its own
def test_whatever_is_asked_the_answer_is_as_the_schema_says(
    study: Study, monkeypatch: pytest.MonkeyPatch, examples: int
) -> None:
    """So many requests of each operation as the schema wants them, and as many otherwise."""
    # Loaded here: it takes seconds, and every worker imports this module.
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import CHECKS, load_all_checks

    monkeypatch.setattr("api.authentication.API_REQUESTS", Limit("all-we-like", 10**6, timedelta(minutes=1)))
    load_all_checks()
    checks: Any = CHECKS.get_by_names(HELD)
    owner = ensure_researcher(username="ada", password="seven wet otters")
    token = {"Authorization": f"Bearer {Program(owner).secret}"}
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.yaml", application)
    seen: Counter[int] = Counter()

    def try_all(operation: Any, mode: GenerationMode, **chosen: Any) -> None:
        @settings(SAME_EVERY_TIME, max_examples=examples)
        @given(case=operation.as_strategy(generation_mode=mode, **chosen))
        def try_one(case: Any) -> None:
            response = case.call(headers=token)
            seen[response.status_code] += 1
            case.validate_response(response, checks=checks)

        try_one()

    operations: Any = schema.get_all_operations()
    for operation in (result.ok() for result in operations):
        there = {"slug": "main", "number": 1}
        names = {parameter.name for parameter in operation.path_parameters}
        known = {"path_parameters": {name: there[name] for name in names}} if names else {}
        try_all(operation, GenerationMode.POSITIVE, **known)
        if operation.method == "post":
            try_all(operation, GenerationMode.POSITIVE, **known)  # again: a release is under way by then
        if operation.query or operation.body:
            try_all(operation, GenerationMode.NEGATIVE, **known)
        if names:
            try_all(operation, GenerationMode.POSITIVE)  # mostly of what is not there
    assert {200, 201, 202, 404, 409, 422} <= set(seen), seen
