"""Releases: list them, read one with its files, and publish one."""

from typing import Any, ClassVar

from django.http import Http404
from django.urls import reverse
from rest_framework.response import Response

from api import actions, requests, responses
from api.base import Scope, StudyView, absolute, accepted
from api.openapi import LOCATION, described
from publishing.models import Release
from publishing.queries import planned_filter
from tomannot import clock


class ReleasesView(StudyView):
    """``studies/<slug>/releases/``"""

    scopes: ClassVar[Any] = {"GET": Scope.RELEASES_READ, "POST": Scope.RELEASES_WRITE}

    @described("listReleases", {200: responses.ReleasesOut}, query=requests.NumberPage)
    def get(self, request: Any, slug: str) -> Response:
        """The releases of a study, also unfinished and failed ones. Newest first, paginated."""
        found = Release.objects.filter(study=self.study).select_related("study", "withdrawal")
        return self.page(found, responses.ReleaseOut, requests.NumberPage, by="-number")

    @described(
        "publishRelease",
        {200: responses.ReleaseOut, 202: responses.ReleaseOut},
        409,
        takes=requests.NewRelease,
        headers=(LOCATION,),
    )
    def post(self, request: Any, slug: str) -> Response:
        """Publish a release.

        A worker builds it. 200: a release of this number exists already and is returned.
        """
        asked = self.read(requests.NewRelease)
        release, is_new = actions.publish_once(
            study=self.study,
            filter_name=asked.get("filter") or planned_filter(self.study),
            number=asked.get("number"),
            by=self.user,
            now=clock.now(),
        )
        shown = responses.ReleaseOut(release, context={"request": request}).data
        address = absolute(request, reverse("api:release", args=[slug, release.number]))
        return accepted(shown, address) if is_new else Response(shown)


class ReleaseView(StudyView):
    """``studies/<slug>/releases/<number>/``"""

    scopes: ClassVar[Any] = {"GET": Scope.RELEASES_READ}

    @described("getRelease", {200: responses.ReleaseWithFiles})
    def get(self, request: Any, slug: str, number: int) -> Response:
        """A release and the addresses of its files.

        The addresses of the files are public: they need no token.
        """
        found = Release.objects.select_related("study", "withdrawal")
        release = found.filter(study=self.study, number=number).first()
        if release is None:
            raise Http404("The study has no such release.")
        return Response(responses.ReleaseWithFiles(release, context={"request": request}).data)
