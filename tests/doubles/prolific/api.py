"""The REST API: which path is answered by what."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.doubles.prolific import studies, submissions, workspace
from tests.doubles.prolific.answers import Answer, Request
from tests.doubles.prolific.platform import Platform
from tests.doubles.prolific.rules import Refused


def answer(platform: Platform, request: Request) -> Answer:
    """What Prolific says to this request. Raises :class:`Refused`."""
    for method, pattern, act in ROUTES:
        found = re.fullmatch(pattern, request.path)
        if found and method == request.method:
            return act(platform, request, *found.groups())
    raise Refused(f"No such path: {request.method} {request.path}", 404, "Not Found")


ID = r"([0-9a-f]{24})"
V1 = "/api/v1"
ROUTES: list[tuple[str, str, Callable[..., Answer]]] = [
    ("GET", f"{V1}/studies/", studies.list_studies),
    ("POST", f"{V1}/studies/", studies.create_study),
    ("GET", f"{V1}/studies/{ID}/", studies.read_study),
    ("PATCH", f"{V1}/studies/{ID}/", studies.change_study),
    ("DELETE", f"{V1}/studies/{ID}/", studies.delete_study),
    ("POST", f"{V1}/studies/{ID}/transition/", studies.move_study),
    ("GET", f"{V1}/studies/{ID}/cost/", studies.study_cost),
    ("POST", f"{V1}/study-cost-calculator/", studies.calculate_cost),
    ("GET", f"{V1}/submissions/", submissions.list_submissions),
    ("GET", f"{V1}/submissions/{ID}/", submissions.read_submission),
    ("POST", f"{V1}/submissions/{ID}/transition/", submissions.move_submission),
    ("POST", f"{V1}/submissions/{ID}/request-return/", submissions.request_return),
    ("POST", f"{V1}/submissions/bulk-approve/", submissions.bulk_approve),
    ("POST", f"{V1}/submissions/bonus-payments/", submissions.set_up_bonuses),
    ("POST", f"{V1}/bulk-bonus-payments/{ID}/pay/", submissions.pay_bonuses),
    ("GET", f"{V1}/participant-groups/", workspace.list_groups),
    ("POST", f"{V1}/participant-groups/", workspace.create_group),
    ("GET", f"{V1}/participant-groups/{ID}/participants/", workspace.list_members),
    ("POST", f"{V1}/participant-groups/{ID}/participants/", workspace.add_members),
    ("DELETE", f"{V1}/participant-groups/{ID}/participants/", workspace.remove_members),
    ("GET", f"{V1}/filters/", workspace.list_filters),
    ("GET", f"{V1}/users/me/", workspace.me),
    ("GET", f"{V1}/workspaces/", workspace.list_workspaces),
    ("GET", f"{V1}/workspaces/{ID}/balance/", workspace.read_balance),
    ("GET", f"{V1}/hooks/event-types/", workspace.list_event_types),
    ("GET", f"{V1}/hooks/secrets/", workspace.list_secrets),
    ("POST", f"{V1}/hooks/secrets/", workspace.make_secret),
    ("GET", f"{V1}/hooks/subscriptions/", workspace.list_subscriptions),
    ("POST", f"{V1}/hooks/subscriptions/", workspace.subscribe),
    ("POST", f"{V1}/hooks/subscriptions/{ID}/", workspace.confirm_subscription),
    ("DELETE", f"{V1}/hooks/subscriptions/{ID}/", workspace.unsubscribe),
    ("GET", r"/\.well-known/study/jwks\.json", workspace.read_keys),
]
