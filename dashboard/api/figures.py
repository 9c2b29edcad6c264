"""How a study stands, and its statistics: the figures of the overview and of the page “Quality”."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils import timezone
from rest_framework.response import Response

from annotation.models import Assignment
from dashboard import overview
from dashboard.api import outputs
from dashboard.api.base import Scope, StudyView
from dashboard.api.described import RETRY_AFTER, described
from dashboard.api.problems import Conflict
from dashboard.figures import kept
from qualification.queries import tested

LOOK_AGAIN = 5
"""Seconds after which figures that are being worked out may be there."""


class ProgressView(StudyView):
    """``studies/<slug>/progress/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STUDIES_READ}

    @described({200: outputs.Progress}, 403, 404, operation="getProgress", says="How a study stands")
    def get(self, request: Any, slug: str) -> Response:
        """What the overview shows. What needs all votes is null until a worker has worked it out."""
        now = timezone.now()
        found, underway = kept.refreshed(self.study, now=now)
        document = found.document if found else None
        holding = Assignment.objects.filter(enrollment__study=self.study, state=Assignment.State.LEASED)
        progress = {
            "made_at": found.begun_at if found else None,
            "underway": underway,
            "state": self.study.state,
            "people": overview.people_counts(self.study, tested(self.study)),
            "answers_in_the_last_hour": overview.votes_in_the_last_hour(self.study, now=now),
            "stories_held": holding.count(),
            "verdicts": document["verdicts"] if document else None,
            "votes": document["votes"] if document else None,
            "finish": _finish(document["finish"]) if document else None,
            "cost": overview.cost_of(self.study, document) if document else None,
        }
        return Response(outputs.Progress(progress).data)


class StatisticsView(StudyView):
    """``studies/<slug>/statistics/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STATISTICS_READ}

    @described(
        {200: outputs.Statistics, 202: outputs.FiguresState},
        403,
        404,
        409,
        operation="getStatistics",
        says="Agreement, retention and verdicts over all votes",
        headers=(RETRY_AFTER,),
    )
    def get(self, request: Any, slug: str) -> Response:
        """The newest figures. 202: they are being worked out for the first time; ask again."""
        found, underway = kept.refreshed(self.study, now=timezone.now())
        state = {"made_at": found.begun_at if found else None, "underway": underway}
        if found is None:
            waiting = outputs.FiguresState(state).data
            return Response(waiting, status=202, headers={"Retry-After": str(LOOK_AGAIN)})
        if found.document is None:
            raise Conflict(found.failure)
        names = ("verdicts", "statistics", "filters", "lint")
        shown = {name: found.document[name] for name in names}
        return Response(outputs.Statistics(state | shown).data)


def _finish(forecast: dict[str, Any]) -> dict[str, Any]:
    return {name: forecast.get(name) for name in ("finish", "earliest", "latest", "per_day", "none")}
