"""Releases: list them, read one with its files, and publish one."""

from typing import Any

from django.http import Http404
from rest_framework.response import Response
from rest_framework.reverse import reverse

from api import actions, requests, responses
from api.base import Scope, StudyView
from api.openapi import LOCATION, operation
from publishing.models import Release
from publishing.queries import planned_filter
from tomannot import clock


class ReleasesView(StudyView):
    @operation("listReleases", Scope.RELEASES_READ, {200: responses.ReleasesOut}, query=requests.NumberPage)
    def get(self, request: Any, slug: str) -> Response:
        """The releases of a study, also unfinished and failed ones. Newest first, paginated."""
        found = Release.objects.filter(study=self.study).select_related("study", "withdrawal")
        return self.page(found, responses.ReleaseOut, requests.NumberPage, by="-number")

    @operation(
        "publishRelease",
        Scope.RELEASES_WRITE,
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
        address = reverse("api:release", args=[slug, release.number], request=request)
        return Response(shown, status=202, headers={"Location": address}) if is_new else Response(shown)


class ReleaseView(StudyView):
    @operation("getRelease", Scope.RELEASES_READ, {200: responses.ReleaseWithFiles})
    def get(self, request: Any, slug: str, number: int) -> Response:
        """A release and the addresses of its files.

        The addresses of the files are public: they need no token.
        """
        found = Release.objects.select_related("study", "withdrawal")
        release = found.filter(study=self.study, number=number).first()
        if release is None:
            raise Http404("The study has no such release.")
        return Response(responses.ReleaseWithFiles(release, context={"request": request}).data)
