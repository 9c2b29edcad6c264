"""Who may do what in a study. The one place that says so; pages, the API and commands ask here.

A person has rights in a study through their role in it. Beside that, the lab's administrators give
rights in all studies at once, as Django permissions: ``annotation.view_study`` to look at every study,
``annotation.change_study`` to do everything in every study, ``annotation.add_study`` to make new ones (of
which the maker is the owner). A superuser has all of them.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import ApiToken, Invitation, Membership, Study
from annotation.protocols import UnknownProtocol

P = ParamSpec("P")

LOOK_AT_ALL = "annotation.view_study"
CHANGE_ALL = "annotation.change_study"
CREATE = "annotation.add_study"


class Right(enum.Enum):
    """What a page or an action may ask for."""

    LOOK = "see the study: its stories, votes under pseudonyms, figures"
    AUDIT = "see and export the audit log"
    REVIEW = "judge people's work: spot checks, adjudication"
    CHANGE = "change the study: settings, stories, key, people, state"
    PUBLISH = "ask for a release"
    MANAGE = "decide who belongs to the study, and in which role"


Role = Membership.Role

RIGHTS: Mapping[str, frozenset[Right]] = {
    Role.OWNER: frozenset(Right),
    Role.RESEARCHER: frozenset(Right) - {Right.MANAGE},
    Role.REVIEWER: frozenset({Right.LOOK, Right.REVIEW}),
    Role.AUDITOR: frozenset({Right.LOOK, Right.AUDIT}),
}
NONE: frozenset[Right] = frozenset()


def rights_in(user: User | AnonymousUser, study: Study) -> frozenset[Right]:
    """What this person may do in this study; nothing for who is not signed in. One query at most."""
    if not isinstance(user, User) or not user.is_active:
        return NONE
    if user.has_perm(CHANGE_ALL):
        return frozenset(Right)
    role = Membership.objects.filter(study=study, user=user).values_list("role", flat=True).first()
    everywhere = RIGHTS[Role.AUDITOR] if user.has_perm(LOOK_AT_ALL) else NONE
    return everywhere | (RIGHTS[role] if role else NONE)


def studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies that this person may look at."""
    if not isinstance(user, User) or not user.is_active:
        return Study.objects.none()
    if user.has_perm(CHANGE_ALL) or user.has_perm(LOOK_AT_ALL):
        return Study.objects.all()
    return Study.objects.filter(memberships__user=user)


SCOPE_RIGHTS: Mapping[str, Right] = {
    ApiToken.Scope.STUDIES_READ: Right.LOOK,
    ApiToken.Scope.STUDIES_WRITE: Right.CHANGE,
    ApiToken.Scope.STORIES_READ: Right.LOOK,
    ApiToken.Scope.STORIES_WRITE: Right.CHANGE,
    ApiToken.Scope.VOTES_READ: Right.LOOK,
    ApiToken.Scope.STATISTICS_READ: Right.LOOK,
    ApiToken.Scope.RELEASES_READ: Right.LOOK,
    ApiToken.Scope.RELEASES_WRITE: Right.PUBLISH,
}
"""The right in a study that its owner needs for what a token of this scope asks for."""


def token_rights(token: ApiToken, study: Study) -> frozenset[Right]:
    """What an API token opens in this study: what its owner may do now, and nothing in another study.

    Its scopes are a second lock (``ApiToken.allows``). One query at most.
    """
    return rights_in(token.owner, study) if token.study_id in (None, study.pk) else NONE


def token_studies(token: ApiToken) -> QuerySet[Study]:
    """The studies that a token may look at."""
    found = studies_of(token.owner)
    return found.filter(pk=token.study_id) if token.study_id else found


def tokens_of(study: Study, *, now: datetime) -> QuerySet[ApiToken]:
    """The tokens that open this study now: those whose :func:`token_rights` let them look at it."""
    owners = having(Membership.objects.filter(study=study), permissions=(CHANGE_ALL, LOOK_AT_ALL))
    bound = Q(study=None) | Q(study=study)
    return ApiToken.objects.filter(
        bound, owner__in=owners.values("pk"), revoked_at=None, expires_at__gt=now
    ).select_related("owner", "study")


def having(memberships: QuerySet[Membership], *, permissions: Iterable[str]) -> QuerySet[User]:
    """The active people of these memberships, and who has one of these permissions in all studies."""
    may = Q(pk__in=memberships.values("user"))
    for permission in permissions:
        everywhere = User.objects.with_perm(permission, backend="django.contrib.auth.backends.ModelBackend")
        may |= Q(pk__in=everywhere.values("pk"))
    return User.objects.filter(may, is_active=True)


def standing_of(invitation: Invitation, now: datetime) -> Invitation.Standing:
    """What has become of an invitation. It ends with its inviter's right to decide who belongs."""
    standing = invitation.standing(now)
    if standing is not Invitation.Standing.OPEN:
        return standing
    may_invite = Right.MANAGE in rights_in(invitation.invited_by, invitation.study)
    return standing if may_invite else Invitation.Standing.REVOKED


def signed_in(request: HttpRequest) -> User:
    """The researcher who sent the request. Raises ``PermissionDenied`` when nobody is signed in."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def study_page(
    right: Right = Right.LOOK, *, post: Right | None = None
) -> Callable[
    [Callable[Concatenate[HttpRequest, Study, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, str, P], HttpResponseBase],
]:
    """A researchers' page about one study. The view gets the study in place of its slug.

    ``post`` is the right that a POST needs, where it is another than ``right``. Who is not signed in is
    asked to; who may not even look is told that there is no such study (404); who may look but not do
    this is refused (403). A page that cannot do without the study's form says so where that is not
    installed (409).
    """

    def decorate(
        view: Callable[Concatenate[HttpRequest, Study, P], HttpResponseBase],
    ) -> Callable[Concatenate[HttpRequest, str, P], HttpResponseBase]:
        @functools.wraps(view)
        def page(request: HttpRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            study = get_object_or_404(Study, slug=slug)
            rights = rights_in(request.user, study)
            if Right.LOOK not in rights:
                raise Http404
            if (post if post and request.method == "POST" else right) not in rights:
                raise PermissionDenied
            try:
                response = view(request, study, *args, **kwargs)
            except UnknownProtocol as error:
                said = {"heading": _("The form of this study is not installed here"), "text": str(error)}
                return render(request, "pages/message.html", said, status=409)
            # A part of a page, at the page's own address, is not what the back button should bring.
            patch_vary_headers(response, ["HX-Request"])
            return response

        return login_required(page)

    return decorate


def researchers_page(view: Callable[..., HttpResponse]) -> Callable[..., Any]:
    """A page for whoever may sign in, such as the list of their studies."""
    return login_required(view)
