"""The researchers' 404 page: it names what is missing and links to the lists."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation.models import Study
from annotation.requests import extended
from annotation.rights import Right, granted, rights_in

PREFIX = "/studies/"
LONGEST_SHOWN = 100
"""Characters of what was looked for; ids and pseudonyms are shorter."""


def is_for_researchers(request: HttpRequest) -> bool:
    """Return True if a signed-in user asked for a page below /studies/."""
    user = getattr(request, "user", None)  # not set if refused before AuthenticationMiddleware
    return request.path_info.startswith(PREFIX) and user is not None and user.is_authenticated


def not_found(request: HttpRequest) -> HttpResponse:
    """Return the page for a missing address, with status 404.

    A study that the reader may not see counts as missing.
    """
    slug = request.path_info.removeprefix(PREFIX).split("/")[0]
    found = Study.objects.filter(slug=slug).first() if "\0" not in slug else None
    if found:  # the menu asks for them; the address may lead to no page
        extended(request).rights = rights_in(request.user, found)
    study = found if Right.LOOK in granted(request) else None
    named = request.resolver_match.kwargs if request.resolver_match and study else {}
    context = {
        "base": "dashboard/study_base.html" if study else "dashboard/all_studies_base.html",
        "study": study,
        "slug": _shown(slug),
        "story_id": _shown(named.get("story_id", "")),
        "pseudonym": _shown(named.get("pseudonym", "")),
    }
    return render(request, "dashboard/not_found.html", context, status=404)


def _shown(name: str) -> str:
    return name[:LONGEST_SHOWN] if name.isprintable() else "…"
