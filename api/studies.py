"""Studies: list, read, create, change, open and close them, read their figures. Also the request's token."""

from typing import Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation import actions as annotation_actions
from annotation.models import Assignment, Study
from annotation.rights import CREATE, token_studies
from api import requests, responses
from api.base import ApiView, Scope, StudyView
from api.openapi import LOCATION, operation
from api.problems import Conflict
from dashboard import actions
from dashboard.figures import store
from dashboard.overview import queries
from dashboard.recruitment.study_state import CLOSE, OPEN, PAUSE
from tomannot import clock

MOVE_TO = {Study.State.OPEN: OPEN, Study.State.PAUSED: PAUSE, Study.State.CLOSED: CLOSE}


class TokenView(ApiView):
    @operation("getToken", None, {200: responses.TokenOut}, access=())
    def get(self, request: Any) -> Response:
        """The token of the request. The token's name, owner, scopes and expiry."""
        return Response(responses.TokenOut(self.token).data)


class StudiesView(ApiView):
    @operation(
        "listStudies",
        Scope.STUDIES_READ,
        {200: responses.StudiesOut},
        access=(403,),
        query=requests.StudyPage,
    )
    def get(self, request: Any) -> Response:
        """The studies that the token gives access to. Ordered by slug, paginated."""
        return self.page(token_studies(self.token), responses.StudyOut, requests.StudyPage, by="slug")

    @operation(
        "createStudy",
        Scope.STUDIES_WRITE,
        {201: responses.StudyWithBlockers},
        409,
        access=(403,),
        takes=requests.NewStudy,
        headers=(LOCATION,),
    )
    def post(self, request: Any) -> Response:
        """Create a study, as a draft.

        Needs an owner with the right to create studies, and a token for all of the owner's studies.
        """
        if not self.user.has_perm(CREATE) or self.token.study_id:
            raise PermissionDenied("Creating a study needs that right, and a token for all studies.")
        given = self.read(requests.NewStudy)
        slug = given.pop("slug")
        config = actions.chosen_configuration(**given)
        study = actions.create_study(slug=slug, config=config, by=self.user, now=clock.now())
        shown = responses.StudyWithBlockers(study).data
        address = reverse("api:study", args=[study.slug], request=request)
        return Response(shown, status=201, headers={"Location": address})


class OneStudyView(StudyView):
    @operation("getStudy", Scope.STUDIES_READ, {200: responses.StudyWithBlockers})
    def get(self, request: Any, slug: str) -> Response:
        """A study. The study's settings, its state, and the reasons why it cannot open yet."""
        return Response(responses.StudyWithBlockers(self.study).data)

    @operation(
        "changeStudy", Scope.STUDIES_WRITE, {200: responses.StudyWithBlockers}, takes=requests.StudyChanges
    )
    def patch(self, request: Any, slug: str) -> Response:
        """Change settings of a study. All or nothing: if one change is impossible, none is made."""
        changes = self.read(requests.StudyChanges)
        study = annotation_actions.change_study(
            study=self.study, changes=changes, by=self.user, now=clock.now()
        )
        return Response(responses.StudyWithBlockers(study).data)


class StateView(StudyView):
    @operation(
        "setState", Scope.STUDIES_WRITE, {200: responses.StudyWithBlockers}, 409, takes=requests.NewState
    )
    def put(self, request: Any, slug: str) -> Response:
        """Open, pause or close a study.

        Requesting the current state changes nothing. Campaigns move with the study as on its page.
        """
        given = self.read(requests.NewState)
        state, study = Study.State(given["state"]), self.study
        if study.state != state:
            actions.move_study(
                study=study,
                move=MOVE_TO[state],
                campaigns=given.get("campaigns"),
                accepted=given["accepted"],
                by=self.user,
                now=clock.now(),
            )
            study.refresh_from_db()
        return Response(responses.StudyWithBlockers(study).data)


LOOK_AGAIN = 5
"""Seconds to wait before asking again for figures that are being computed."""


class ProgressView(StudyView):
    @operation("getProgress", Scope.STUDIES_READ, {200: responses.Progress})
    def get(self, request: Any, slug: str) -> Response:
        """The progress of a study.

        The overview's figures. Those that need all votes are null until a worker has computed them.
        """
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
            "finish": document["finish"] if document else None,
            "cost": queries.cost_of(self.study, document) if document else None,
        }
        return Response(responses.Progress(progress).data)


class StatisticsView(StudyView):
    @operation(
        "getStatistics",
        Scope.STATISTICS_READ,
        {200: responses.Statistics, 202: responses.FiguresState},
        409,
        retry=(202, 429),
    )
    def get(self, request: Any, slug: str) -> Response:
        """Agreement, retention and verdicts over all votes.

        The newest figures. 202: they are being computed for the first time; ask again.
        """
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
