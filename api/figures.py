"""Progress and statistics of a study: the figures of the pages “Overview” and “Quality”."""

from typing import Any, ClassVar

from rest_framework.response import Response

from annotation.models import Assignment
from api import responses
from api.base import Scope, StudyView
from api.openapi import RETRY_AFTER, described
from api.problems import Conflict
from dashboard.figures import store
from dashboard.overview import queries
from tomannot import clock

LOOK_AGAIN = 5
"""Seconds to wait before asking again for figures that are being computed."""


class ProgressView(StudyView):
    """``studies/<slug>/progress/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STUDIES_READ}

    @described({200: responses.Progress}, operation="getProgress", says="The progress of a study")
    def get(self, request: Any, slug: str) -> Response:
        """The overview's figures. Those that need all votes are null until a worker has computed them."""
        now = clock.now()
        found, underway = store.refreshed(self.study, now=now)
        document = found.document if found else None
        holding = Assignment.objects.filter(enrollment__study=self.study, state=Assignment.State.LEASED)
        progress = {
            "made_at": found.begun_at if found else None,
            "underway": underway,
            "state": self.study.state,
            "people": queries.people_counts(self.study),
            "answers_in_the_last_hour": queries.votes_in_the_last_hour(self.study, now=now),
            "stories_held": holding.count(),
            "verdicts": document["verdicts"] if document else None,
            "votes": document["votes"] if document else None,
            "finish": _finish(document["finish"]) if document else None,
            "cost": queries.cost_of(self.study, document) if document else None,
        }
        return Response(responses.Progress(progress).data)


class StatisticsView(StudyView):
    """``studies/<slug>/statistics/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STATISTICS_READ}

    @described(
        {200: responses.Statistics, 202: responses.FiguresState},
        409,
        operation="getStatistics",
        says="Agreement, retention and verdicts over all votes",
        headers=(RETRY_AFTER,),
    )
    def get(self, request: Any, slug: str) -> Response:
        """The newest figures. 202: they are being computed for the first time; ask again."""
        found, underway = store.refreshed(self.study, now=clock.now())
        state = {"made_at": found.begun_at if found else None, "underway": underway}
        if found is None:
            waiting = responses.FiguresState(state).data
            return Response(waiting, status=202, headers={"Retry-After": str(LOOK_AGAIN)})
        if found.document is None:
            raise Conflict(found.failure)
        names = ("verdicts", "statistics", "filters", "lint")
        shown = {name: found.document[name] for name in names}
        return Response(responses.Statistics(state | shown).data)


def _finish(forecast: dict[str, Any]) -> dict[str, Any]:
    return {name: forecast.get(name) for name in ("finish", "earliest", "latest", "per_day", "none")}
