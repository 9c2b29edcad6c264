"""The researchers' pages to measure, with the most expensive filters and pages far into each list."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import Max, Min
from django.urls import get_resolver
from django.utils import timezone

from accounts.models import User
from annotation.actions import make_api_token
from annotation.models import (
    ApiToken,
    Assignment,
    Enrollment,
    Event,
    ReviewItem,
    ReviewSample,
    Story,
    StoryImport,
    Study,
)
from dashboard.figures import store
from dashboard.quality.pages.decisions import Queue
from qualification.models import ExpertReview
from recruitment.models import Campaign, Payment
from recruitment.queries import completion_of

HTMX = {"HX-Request": "true"}
FOUND = 302
ONLY_SENT = (
    "preview_new", "new_consent", "choose_test", "revoke_all_api_tokens", "revoke_api_token", "release_lease",
    "member", "revoke_members_token", "revoke_invitation", "discard_campaign", "move_campaign",
    "settle_mismatch", "decide_submission", "retry_payment", "undo_rejection", "note_external_payment",
    "retry_payments", "close_join_link", "change_state", "set_group", "set_standing", "persons_link",
    "find_by_id", "mismatch_ids", "submission_ids", "review_person", "note_amounts_paid", "settle_mismatches",
    "decide_stories",
)  # fmt: skip
"""Addresses that only receive forms."""
STREAMS = (
    "import_problems",
    "payments_file",
    "log_file",
    "amounts_due_file",
    "compare_file",
    "votes_file",
    "stories_file",
)
"""Streamed files of whole tables."""
OTHER_STUDIES = ("invited", "invited_links", "human_baseline", "human_baseline_file")
"""Pages of another protocol's studies, for people who are no members yet, or empty after an hour."""


@dataclass(frozen=True, slots=True)
class Page:
    """One request: who asks (None: nobody in particular), for what, and what is sent if it is a POST.

    ``status``: of the answer; of who looks for the next story it is :data:`FOUND`, the way to it.
    """

    address: str
    user: User | None
    headers: dict[str, str] = field(default_factory=dict)
    sent: dict[str, str] | None = None
    status: int = 200


def not_measured(routes: Collection[str]) -> list[str]:
    """Return the dashboard's pages that are not among these routes."""
    names = {name for name in get_resolver("dashboard.urls").reverse_dict if isinstance(name, str)}
    visited = {route.removeprefix("dashboard:") for route in routes}
    return sorted(names.difference(ONLY_SENT, STREAMS, OTHER_STUDIES, visited))


def pages_of(study: Study) -> dict[str, Page]:
    """Return the pages to measure by their names in the report."""
    reader = User.objects.get_or_create(username="bench", is_superuser=True, is_staff=True)[0]
    root = f"/studies/{study.slug}/"
    addresses = {
        "studies": "/studies/",
        "front page": "/",
        "new study": "/studies/new/",
        "study from a file": "/studies/new/from-file/",
        "API tokens": "/api-tokens/",
        "overview": root,
        **_settings(study, root),
        **_stories(study, root),
        **_people(study, root),
        **_reviewed(study, root),
        **_recruited(study, root),
        **_log(study, root),
        **_published(study, root),
    }
    pages = {name: Page(address, reader) for name, address in addresses.items()}
    moving = {"moving part of the overview": Page(root, reader, HTMX)}
    following = {
        f"the next to decide, {queue}": Page(
            f"{root}quality/decisions/next/?queue={queue}", reader, status=FOUND
        )
        for queue in Queue
    }
    rest = _looking_up(study, root, reader) | _experts(root) | _api(study, reader)
    return pages | moving | following | rest


def _settings(study: Study, root: str) -> dict[str, str]:
    refused = StoryImport.objects.filter(study=study, state=StoryImport.State.REFUSED).latest("pk")
    return {
        "settings": f"{root}settings/",
        "preview": f"{root}settings/preview/",
        "clone": f"{root}settings/clone/",
        "configuration": f"{root}settings/configuration/",
        "configuration file": f"{root}settings/configuration.json",
        "import": f"{root}stories/import/",
        "import report": f"{root}stories/import/{refused.pk}/",
        "members": f"{root}settings/members/",
        "data statement": f"{root}releases/data-statement/",
    }


def _stories(study: Study, root: str) -> dict[str, str]:
    main = Story.objects.filter(study=study).main().order_by("story_id")
    last, middle = main.latest("pk"), main[main.count() // 2]
    voted = Assignment.objects.filter(story__study=study, state="submitted", slot=2).latest("pk").story
    return {
        "stories": f"{root}stories/",
        "stories, half way": f"{root}stories/?after={middle.story_id}",
        "stories of no scenario": f"{root}stories/?scenario=none",
        "stories decided against the filter": f"{root}stories/?expert=against",
        "undecided split stories": f"{root}stories/?expert=nobody&verdict=split&after={middle.story_id}",
        "stories with findings": f"{root}stories/?lint=any",
        "stories with a rare finding": f"{root}stories/?lint=near_duplicate&after={middle.story_id}",
        "kept stories": f"{root}stories/?verdict=kept",
        "dropped stories": f"{root}stories/?verdict=dropped&after={middle.story_id}",
        "incomplete stories": f"{root}stories/?verdict=incomplete",
        "a story": f"{root}stories/{voted.story_id}/",
        "a story without votes": f"{root}stories/{last.story_id}/",
    }


def _people(study: Study, root: str) -> dict[str, str]:
    last_page = -(-store.people_count(study) // store.PEOPLE_AT_ONCE)
    busy = _busiest(study).pseudonym
    out = Enrollment.objects.filter(study=study, state=Enrollment.State.SUSPENDED).first()
    excluded = out.pseudonym if out else busy
    return {
        "quality": f"{root}quality/",
        "quality, last page of people": f"{root}quality/?page={last_page}",
        "people as CSV": f"{root}quality/people.csv",
        "a chart's table": f"{root}overview/charts/people.csv",
        "people": f"{root}people/",
        "people, half way": f"{root}people/?before={_middle(Enrollment.objects.filter(study=study))}",
        "people who passed": f"{root}people/?step=passed_test",
        "people with a flag": f"{root}people/?flag=any",
        "people of a name": f"{root}people/?name={busy[:6]}",
        "inviting": f"{root}people/invite/",
        "a person": f"{root}people/{busy}/",
        "a person's tests": f"{root}people/{busy}/tests/",
        "a person, page 5": f"{root}people/{busy}/?page=5",
        "excluding somebody": f"{root}people/{busy}/exclude/",
        "readmitting somebody": f"{root}people/{excluded}/exclude/",
        "qualification": f"{root}qualification/",
        "a new round": f"{root}qualification/new/",
        "a round": f"{root}qualification/1/",
        "key comparison": f"{root}qualification/1/key/",
    }


def _busiest(study: Study) -> Enrollment:
    return Enrollment.objects.filter(study=study).order_by("-stories_submitted", "pk")[0]


def _reviewed(study: Study, root: str) -> dict[str, str]:
    check = Story.objects.filter(study=study, role=Story.Role.CHECK).earliest("pk")
    sample = ReviewSample.objects.filter(study=study).earliest("pk")
    undecided = Story.objects.filter(study=study, adjudications=None).main().earliest("pk")
    judged = ReviewItem.objects.filter(sample=sample, spot_checks__isnull=False).earliest("pk")
    return {
        "checks": f"{root}quality/hidden-checks/",
        "a check": f"{root}quality/hidden-checks/{check.pk}/",
        "answers of checks": f"{root}quality/hidden-checks/answers/",
        "decisions": f"{root}quality/decisions/",
        "decisions as CSV": f"{root}quality/decisions.csv",
        "deciding about a story": f"{root}quality/decisions/of/{undecided.story_id}/",
        "review": f"{root}quality/review/",
        "a sample": f"{root}quality/review/{sample.pk}/?list",
        "a sample as CSV": f"{root}quality/review/{sample.pk}.csv",
        "a judged answer": f"{root}quality/review/{sample.pk}/{judged.position}/",
    }


def _recruited(study: Study, root: str) -> dict[str, str]:
    up = Campaign.objects.filter(study=study, state=Campaign.State.LIVE, purpose="stories")
    prolific, mturk = (up.filter(platform=platform).latest("number") for platform in ("prolific", "mturk"))
    draft = Campaign.objects.filter(study=study, state=Campaign.State.DRAFT).latest("number")
    own = f"{root}recruitment/"
    return {
        "recruitment": own,
        "a campaign on Prolific": f"{own}{prolific.number}/",
        "a campaign on Mechanical Turk": f"{own}{mturk.number}/",
        "a campaign for the test": f"{own}1/",
        "a draft of a campaign": f"{own}{draft.number}/",
        "changing a draft": f"{own}{draft.number}/change/",
        "a new campaign": f"{own}new/mturk/stories/",
        "work": f"{own}{prolific.number}/submissions/",
        "work, half way": f"{own}{prolific.number}/submissions/?after=o{_middle(prolific.submissions)}",
        "mismatches": f"{root}recruitment/mismatches/",
        "mismatches, page 10": f"{root}recruitment/mismatches/?page=10",
        "payments": f"{root}recruitment/payments/",
        "payments, half way": f"{root}recruitment/payments/?before={_middle(Payment.objects)}",
        "joining": f"{root}recruitment/join-link/",
        "the join link": f"{root}recruitment/join-link/change/",
    }


def _middle(rows: Any) -> int:
    """Return the id half way between the first and the last."""
    ends = rows.aggregate(first=Min("pk"), last=Max("pk"))
    return int((ends["first"] + ends["last"]) // 2)


def _log(study: Study, root: str) -> dict[str, str]:
    busy = _busiest(study).pseudonym
    events = Event.objects.filter(study=study)
    middle = events.filter(at__lte=timezone.now() - timedelta(days=60)).order_by("-at", "-pk")[0]
    day = f"{middle.at:%Y-%m-%d}"
    return {
        "the log": f"{root}settings/log/",
        "the log, half way": f"{root}settings/log/?before={middle.pk}",
        "the log of a kind": f"{root}settings/log/?kind=vote_changed&until={day}",
        "the log of a person": f"{root}settings/log/?person={busy}&until={day}",
        "the log of a colleague": f"{root}settings/log/?who=researcher0&since={day}",
        "the log of a person and a kind": (
            f"{root}settings/log/?person={busy}&kind=check_failed&who=researcher0"
        ),
    }


def _published(study: Study, root: str) -> dict[str, str]:
    return {
        "filters": f"{root}quality/filters/",
        "publishing": f"{root}releases/publish/",
        "preview of a release": f"{root}releases/preview/",
        "releases": f"{root}releases/",
        "withdrawing": f"{root}releases/2/withdraw/",
        "questions for people": f"{root}releases/2/baseline/",
        "two releases": f"{root}releases/compare/?first=1&second=2",
        "two releases, page 10": f"{root}releases/compare/?first=1&second=2&page=10",
        "public list of releases": "/releases/",
        "a release": f"/releases/{study.slug}/2/",
    }


def _looking_up(study: Study, root: str, reader: User) -> dict[str, Page]:
    last = Enrollment.objects.filter(study=study, stories_submitted__gt=0).latest("pk")
    code = completion_of(last)
    assert code is not None
    return {"looking a code up": Page(f"{root}recruitment/join-link/", reader, sent={"code": code.code})}


def _experts(root: str) -> dict[str, Page]:
    asked = ExpertReview.objects.filter(handed_in_at=None).select_related("round", "expert").latest("pk")
    own = f"{root}qualification/{asked.round.number}/expert/"
    return {
        "an expert's stories": Page(own, asked.expert),
        "an expert's story": Page(f"{own}1/", asked.expert),
    }


def _api(study: Study, reader: User) -> dict[str, Page]:
    now = timezone.now()
    _token, secret = make_api_token(
        owner=reader,
        name="Pages",
        scopes=list(ApiToken.Scope),
        expires_at=now + timedelta(days=1),
        study=None,
        by=reader,
        now=now,
    )
    root = f"/api/v1/studies/{study.slug}/"
    addresses = {
        "API: studies": "/api/v1/studies/",
        "API: a study": root,
        "API: progress": f"{root}progress/",
        "API: statistics": f"{root}statistics/",
        "API: stories": f"{root}stories/?limit=200",
        "API: incomplete stories": f"{root}stories/?verdict=incomplete&limit=200",
        "API: imports": f"{root}imports/",
        "API: releases": f"{root}releases/",
        "API: a release": f"{root}releases/2/",
    }
    headers = {"Authorization": f"Bearer {secret}"}
    return {name: Page(address, None, headers) for name, address in addresses.items()}
