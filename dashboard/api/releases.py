"""Releases: the list, one with its files, and asking for one."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils import timezone
from rest_framework.response import Response

from dashboard.api import actions, inputs, outputs
from dashboard.api.base import Scope, StudyView, absolute, accepted
from dashboard.api.described import BODY, LOCATION, described
from publishing.actions import COUNTS
from publishing.models import Release
from publishing.views import ARCHIVES


class ReleasesView(StudyView):
    """``studies/<slug>/releases/``"""

    scopes: ClassVar[Any] = {"GET": Scope.RELEASES_READ, "POST": Scope.RELEASES_WRITE}

    @described(
        {200: outputs.ReleasesOut},
        403,
        404,
        422,
        operation="listReleases",
        says="The releases of a study, also unfinished and failed ones",
        query=inputs.NumberPage,
    )
    def get(self, request: Any, slug: str) -> Response:
        """The newest first, a page at a time."""
        asked = self.read(inputs.NumberPage, query=True)
        found = Release.objects.filter(study=self.study).select_related("study", "withdrawal")
        found = found.filter(number__lt=asked["after"]) if "after" in asked else found
        rows = list(found.order_by("-number")[: asked["limit"] + 1])
        make = lambda release: outputs.ReleaseOut(_shown(request, release)).data  # noqa: E731
        return Response(self.page(rows, make, size=asked["limit"], last=lambda release: release.number))

    @described(
        {200: outputs.ReleaseOut, 202: outputs.ReleaseOut},
        403,
        404,
        409,
        *BODY,
        operation="publishRelease",
        says="Publish a release",
        takes=inputs.NewRelease,
        headers=(LOCATION,),
    )
    def post(self, request: Any, slug: str) -> Response:
        """A worker builds it. 200: there is one of this number already, and this is it."""
        asked = self.read(inputs.NewRelease)
        release, is_new = actions.publish_once(
            study=self.study,
            filter_name=asked["filter"],
            number=asked.get("number"),
            by=self.user,
            now=timezone.now(),
        )
        shown = outputs.ReleaseOut(_shown(request, release)).data
        address = absolute(request, reverse("api:release", args=[slug, release.number]))
        return accepted(shown, address) if is_new else Response(shown)


class ReleaseView(StudyView):
    """``studies/<slug>/releases/<number>/``"""

    scopes: ClassVar[Any] = {"GET": Scope.RELEASES_READ}

    @described(
        {200: outputs.ReleaseWithFiles},
        403,
        404,
        operation="getRelease",
        says="A release, and where its files are",
    )
    def get(self, request: Any, slug: str, number: int) -> Response:
        """Its files are at public addresses, for whoever has them; they need no token."""
        found = Release.objects.select_related("study", "withdrawal")
        release = found.filter(study=self.study, number=number).first()
        if release is None:
            raise Http404("The study has no such release.")
        return Response(outputs.ReleaseWithFiles(_with_files(request, release)).data)


def _shown(request: HttpRequest, release: Release) -> dict[str, Any]:
    key = [release.study.slug, release.number]
    is_out = release.state == Release.State.PUBLISHED
    at = partial(absolute, request)
    names = (
        "number", "state", "filter_name", "votes_per_story", "requested_at", "published_at", "failure",
        "manifest_sha256",
    )  # fmt: skip
    return {name: getattr(release, name) for name in names} | {
        "counts": {name: getattr(release, name) for name in COUNTS},
        "withdrawal": release.withdrawn,
        "page": at(reverse("publishing:release", args=key)) if is_out else None,
        "archives": {kind: at(reverse("publishing:archive", args=[*key, kind])) for kind in ARCHIVES}
        if is_out
        else {},
    }


def _with_files(request: HttpRequest, release: Release) -> dict[str, Any]:
    is_out = release.state == Release.State.PUBLISHED
    listed = release.files.all() if is_out else []
    address = [release.study.slug, release.number]
    files = [
        {
            "path": file.path,
            "size": file.size,
            "sha256": file.sha256,
            "url": absolute(request, reverse("publishing:file", args=[*address, file.path])),
        }
        for file in listed
    ]
    return _shown(request, release) | {"files": files}
