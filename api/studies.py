"""Studies: list, read, create and change them, and set their state. Also the token of the request."""

from typing import Any, ClassVar

from django.urls import reverse
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response

from accounts.models import Environment
from annotation import actions as annotation_actions
from annotation.actions import StudySettings
from annotation.models import Study
from annotation.rights import CREATE, token_studies
from api import requests, responses
from api.base import ApiView, Scope, StudyView, absolute
from api.openapi import LOCATION, described
from dashboard import actions
from dashboard.recruitment.study_state import CLOSE, OPEN, PAUSE
from dashboard.settings.configuration import StudyConfiguration
from dashboard.settings.forms import NO_TEST, SAMPLE_TEST, filled_in
from tomannot import clock

MOVE_TO = {Study.State.OPEN: OPEN, Study.State.PAUSED: PAUSE, Study.State.CLOSED: CLOSE}


class TokenView(ApiView):
    """``token/``"""

    scopes: ClassVar[Any] = {"GET": None}

    @described({200: responses.TokenOut}, access=(), operation="getToken", says="The token of the request")
    def get(self, request: Any) -> Response:
        """The token's name, owner, scopes and expiry."""
        return Response(responses.TokenOut(self.token).data)


class StudiesView(ApiView):
    """``studies/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STUDIES_READ, "POST": Scope.STUDIES_WRITE}

    @described(
        {200: responses.StudiesOut},
        access=(403,),
        operation="listStudies",
        says="The studies that the token gives access to",
        query=requests.StudyPage,
    )
    def get(self, request: Any) -> Response:
        """Ordered by slug, paginated."""
        return self.page(token_studies(self.token), responses.StudyOut, requests.StudyPage, by="slug")

    @described(
        {201: responses.StudyWithBlockers},
        409,
        access=(403,),
        operation="createStudy",
        says="Create a study, as a draft",
        takes=requests.NewStudy,
        headers=(LOCATION,),
    )
    def post(self, request: Any) -> Response:
        """Needs an owner with the right to create studies, and a token for all of the owner's studies."""
        if not self.user.has_perm(CREATE) or self.token.study_id:
            raise PermissionDenied("Creating a study needs that right, and a token for all studies.")
        config, slug = _configuration(self.read(requests.NewStudy))
        study = actions.create_study(slug=slug, config=config, by=self.user, now=clock.now())
        address = reverse("api:study", args=[study.slug])
        shown = responses.StudyWithBlockers(study).data
        return Response(shown, status=201, headers={"Location": absolute(request, address)})


class OneStudyView(StudyView):
    """``studies/<slug>/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STUDIES_READ, "PATCH": Scope.STUDIES_WRITE}

    @described({200: responses.StudyWithBlockers}, operation="getStudy", says="A study")
    def get(self, request: Any, slug: str) -> Response:
        """The study's settings, its state, and the reasons why it cannot open yet."""
        return Response(responses.StudyWithBlockers(self.study).data)

    @described(
        {200: responses.StudyWithBlockers},
        operation="changeStudy",
        says="Change settings of a study",
        takes=requests.StudyChanges,
    )
    def patch(self, request: Any, slug: str) -> Response:
        """All or nothing: if one change is impossible, none is made."""
        changes = self.read(requests.StudyChanges)
        study = annotation_actions.change_study(
            study=self.study, changes=changes, by=self.user, now=clock.now()
        )
        return Response(responses.StudyWithBlockers(study).data)


class StateView(StudyView):
    """``studies/<slug>/state/``"""

    scopes: ClassVar[Any] = {"PUT": Scope.STUDIES_WRITE}

    @described(
        {200: responses.StudyWithBlockers},
        409,
        operation="setState",
        says="Open, pause or close a study",
        takes=requests.NewState,
    )
    def put(self, request: Any, slug: str) -> Response:
        """Requesting the current state changes nothing. Campaigns move with the study as on its page."""
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


def _configuration(given: dict[str, Any]) -> tuple[StudyConfiguration, str]:
    """Return a request's values as a study's configuration, and the study's slug."""
    slug, consent, test = given.pop("slug"), given.pop("consent"), given.pop("test")
    environment = given.pop("environment")
    settings = StudySettings(**given, qualification_required=test != NO_TEST)
    return StudyConfiguration(
        settings=settings,
        consent=filled_in(consent, settings.contact),
        rounds=(actions.sample_round(),) if test == SAMPLE_TEST else (),
        rehearsal=environment == Environment.REHEARSAL,
    ), slug
