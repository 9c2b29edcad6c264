"""Studies: the list, one, its settings and its state; and what the token itself is for."""

from __future__ import annotations

from typing import Any, ClassVar

from django.urls import reverse
from django.utils import timezone
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response

from accounts.models import Environment
from annotation import actions as annotation_actions
from annotation.actions import StudySettings
from annotation.models import Study
from annotation.rights import CREATE, token_studies
from dashboard import actions
from dashboard.api import inputs, outputs
from dashboard.api.base import ApiView, Scope, StudyView, absolute
from dashboard.api.described import BODY, LOCATION, described
from dashboard.configuration import StudyConfiguration
from dashboard.recruiting.doors import STUDY_MOVES
from dashboard.study_forms import NO_TEST, SAMPLE_TEST, filled_in

MOVE_TO = {
    Study.State.OPEN: STUDY_MOVES["open"],
    Study.State.PAUSED: STUDY_MOVES["pause"],
    Study.State.CLOSED: STUDY_MOVES["close"],
}


class TokenView(ApiView):
    """``token/``"""

    scopes: ClassVar[Any] = {"GET": None}

    @described({200: outputs.TokenOut}, operation="getToken", says="What the token is for")
    def get(self, request: Any) -> Response:
        """Name, owner, scopes and end of the token that was sent."""
        return Response(outputs.TokenOut(self.token).data)


class StudiesView(ApiView):
    """``studies/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STUDIES_READ, "POST": Scope.STUDIES_WRITE}

    @described(
        {200: outputs.StudiesOut},
        403,
        422,
        operation="listStudies",
        says="The studies that the token opens",
        query=inputs.StudyPage,
    )
    def get(self, request: Any) -> Response:
        """By their slugs, a page at a time."""
        asked = self.read(inputs.StudyPage, query=True)
        found = token_studies(self.token).order_by("slug").filter(slug__gt=asked.get("after", ""))
        rows = list(found[: asked["limit"] + 1])
        make = lambda study: outputs.StudyOut(study).data  # noqa: E731
        return Response(self.page(rows, make, size=asked["limit"], last=lambda study: study.slug))

    @described(
        {201: outputs.StudyWithBlockers},
        403,
        409,
        *BODY,
        operation="createStudy",
        says="Make a study, as a draft",
        takes=inputs.NewStudy,
        headers=(LOCATION,),
    )
    def post(self, request: Any) -> Response:
        """The token's owner must have the right to make studies, and the token be for all of theirs."""
        if not self.user.has_perm(CREATE) or self.token.study_id:
            raise PermissionDenied("Making a study needs that right, and a token for all studies.")
        config, slug = _configuration(self.read(inputs.NewStudy))
        study = actions.create_study(slug=slug, config=config, by=self.user, now=timezone.now())
        address = reverse("api:study", args=[study.slug])
        shown = outputs.StudyWithBlockers(study).data
        return Response(shown, status=201, headers={"Location": absolute(request, address)})


class OneStudyView(StudyView):
    """``studies/<slug>/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STUDIES_READ, "PATCH": Scope.STUDIES_WRITE}

    @described({200: outputs.StudyWithBlockers}, 403, 404, operation="getStudy", says="A study")
    def get(self, request: Any, slug: str) -> Response:
        """Its settings, its state, and what keeps it from opening."""
        return Response(outputs.StudyWithBlockers(self.study).data)

    @described(
        {200: outputs.StudyWithBlockers},
        403,
        404,
        *BODY,
        operation="changeStudy",
        says="Change settings of a study",
        takes=inputs.StudyChanges,
    )
    def patch(self, request: Any, slug: str) -> Response:
        """All of the changes or, when one of them cannot be made, none."""
        changes = self.read(inputs.StudyChanges)
        study = annotation_actions.change_study(
            study=self.study, changes=changes, by=self.user, now=timezone.now()
        )
        return Response(outputs.StudyWithBlockers(study).data)


class StateView(StudyView):
    """``studies/<slug>/state/``"""

    scopes: ClassVar[Any] = {"PUT": Scope.STUDIES_WRITE}

    @described(
        {200: outputs.StudyWithBlockers},
        403,
        404,
        409,
        *BODY,
        operation="setState",
        says="Open, pause or close a study",
        takes=inputs.NewState,
    )
    def put(self, request: Any, slug: str) -> Response:
        """Asking for the state it is in changes nothing."""
        state = Study.State(self.read(inputs.NewState)["state"])
        study = self.study
        if study.state != state:
            study = MOVE_TO[state](study=study, by=self.user, now=timezone.now())
        return Response(outputs.StudyWithBlockers(study).data)


def _configuration(given: dict[str, Any]) -> tuple[StudyConfiguration, str]:
    """What a request says, as a study's configuration, and the study's slug."""
    slug, consent, test = given.pop("slug"), given.pop("consent"), given.pop("test")
    environment = given.pop("environment")
    settings = StudySettings(**given, qualification_required=test != NO_TEST)
    return StudyConfiguration(
        settings=settings,
        consent=filled_in(consent, settings.contact),
        rounds=(actions.sample_round(),) if test == SAMPLE_TEST else (),
        rehearsal=environment == Environment.REHEARSAL,
    ), slug
