"""Decide what researchers may do in a study. Pages, the API and commands all ask here.

Researchers have rights in a study through their role in it. Administrators also grant rights in all
studies as Django permissions: ``annotation.view_study`` to see every study, ``annotation.change_study``
to do everything in every study, ``annotation.add_study`` to create studies (and own them). Superusers
have all of them.
"""

import enum
import functools
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Concatenate, ParamSpec, TypedDict

from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import get_script_prefix, is_valid_path
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from annotation.models import ApiToken, Invitation, Membership, Study
from annotation.protocols import UnknownProtocol
from annotation.requests import extended
from tomannot import clock

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]
StudyView = Callable[Concatenate[HttpRequest, Study, P], HttpResponseBase]
SlugView = Callable[Concatenate[HttpRequest, str, P], HttpResponseBase]

LOOK_AT_ALL = "annotation.view_study"
CHANGE_ALL = "annotation.change_study"
CREATE = "annotation.add_study"


class Right(enum.Enum):
    """A right that a page or an action requires."""

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
    """Return the user's rights in this study; none for anonymous users. One query at most."""
    if not isinstance(user, User) or not user.is_active:
        return NONE
    if user.has_perm(CHANGE_ALL):
        return frozenset(Right)
    role = Membership.objects.filter(study=study, user=user).values_list("role", flat=True).first()
    everywhere = RIGHTS[Role.AUDITOR] if user.has_perm(LOOK_AT_ALL) else NONE
    return everywhere | (RIGHTS[role] if role else NONE)


def studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """Return the studies that this user may see."""
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
"""The right in a study that a token's owner needs to use this scope."""


def token_rights(token: ApiToken, study: Study) -> frozenset[Right]:
    """Return the rights of a token in this study: its owner's current rights, if the token covers the study.

    Callers also check its scopes (``ApiToken.allows``). One query at most.
    """
    return rights_in(token.owner, study) if token.study_id in (None, study.pk) else NONE


def token_studies(token: ApiToken) -> QuerySet[Study]:
    """Return the studies that a token may see."""
    found = studies_of(token.owner)
    return found.filter(pk=token.study_id) if token.study_id else found


def tokens_of(study: Study, *, now: datetime) -> QuerySet[ApiToken]:
    """Return the valid tokens whose :func:`token_rights` let them see this study."""
    owners = having(Membership.objects.filter(study=study), permissions=(CHANGE_ALL, LOOK_AT_ALL))
    bound = Q(study=None) | Q(study=study)
    return ApiToken.objects.filter(
        bound, owner__in=owners.values("pk"), revoked_at=None, expires_at__gt=now
    ).select_related("owner", "study")


def having(memberships: QuerySet[Membership], *, permissions: Iterable[str]) -> QuerySet[User]:
    """Return active users with one of these memberships, or one of these permissions in all studies."""
    may = Q(pk__in=memberships.values("user"))
    for permission in permissions:
        everywhere = User.objects.with_perm(permission, backend="django.contrib.auth.backends.ModelBackend")
        may |= Q(pk__in=everywhere.values("pk"))
    return User.objects.filter(may, is_active=True)


def invitation_status(invitation: Invitation, now: datetime) -> Invitation.Status:
    """Return the invitation's state. It ends with its inviter's right to manage members."""
    status = invitation.status(now)
    if status is not Invitation.Status.OPEN:
        return status
    may_invite = Right.MANAGE in rights_in(invitation.invited_by, invitation.study)
    return status if may_invite else Invitation.Status.REVOKED


def signed_in(request: HttpRequest) -> User:
    """Return the request's researcher. Raise ``PermissionDenied`` if nobody is signed in."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


class ByAndNow(TypedDict):
    """The arguments that every action takes."""

    by: User
    now: datetime


def by_and_now(request: HttpRequest) -> ByAndNow:
    """Return the arguments of an action by the request's researcher, now."""
    return {"by": signed_in(request), "now": clock.now()}


def study_page(
    right: Right = Right.LOOK, *, post: Right | None = None
) -> Callable[[StudyView[P]], SlugView[P]]:
    """Make a researchers' page about one study. The view gets the study instead of its slug.

    ``post`` is the right for POST, if it differs from ``right``. Anonymous users are asked to sign in; a
    user who may not see the study gets 404; one who may see it but lacks the right gets 403. A page that
    needs the study's protocol answers 409 if that is not installed.
    """

    def decorate(view: StudyView[P]) -> SlugView[P]:
        @functools.wraps(view)
        def page(request: HttpRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            study = get_object_or_404(Study, slug=slug)
            rights = rights_in(request.user, study)
            if Right.LOOK not in rights:
                raise Http404
            if (post if post and request.method == "POST" else right) not in rights:
                raise PermissionDenied
            extended(request).study, extended(request).rights = study, rights
            try:
                response = view(request, study, *args, **kwargs)
            except UnknownProtocol as error:
                context = {"heading": _("The form of this study is not installed here"), "text": str(error)}
                return render(request, "pages/message.html", context, status=409)
            # A part of a page, at the page's own address, is not what the back button should bring.
            patch_vary_headers(response, ["HX-Request"])
            return response

        return login_required(page)

    return decorate


def granted(request: HttpRequest) -> frozenset[Right]:
    """Return the rights that :func:`study_page` found the reader to have in the page's study."""
    rights: frozenset[Right] = getattr(request, "rights", NONE)
    return rights


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Give templates the ``study`` of a :func:`study_page`, and what its reader ``may_…`` do in it."""
    if not hasattr(request, "study"):
        return {}
    rights = granted(request)
    return {"study": request.study} | {f"may_{right.name.lower()}": right in rights for right in Right}


def read_page(right: Right = Right.LOOK) -> Callable[[StudyView[P]], SlugView[P]]:
    """Make a :func:`study_page` that is only read: GET and HEAD."""
    return lambda view: require_safe(study_page(right)(view))


def form_page(
    right: Right = Right.LOOK, *, post: Right | None = None
) -> Callable[[StudyView[P]], SlugView[P]]:
    """Make a :func:`study_page` with a form: GET, HEAD and POST."""
    return lambda view: require_http_methods(["GET", "HEAD", "POST"])(study_page(right, post=post)(view))


def write_page(right: Right) -> Callable[[StudyView[P]], SlugView[P]]:
    """Make a :func:`study_page` that only acts: POST."""
    return lambda view: acts(study_page(right)(view))


def acts(view: View[P]) -> View[P]:
    """Make a page that only acts: POST. Whoever opens its address, as after signing in again, is led on."""

    @functools.wraps(view)
    def page(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method == "GET":
            query = f"?{request.GET.urlencode()}" if request.GET else ""
            return redirect(get_script_prefix().rstrip("/") + _page_above(request.path_info) + query)
        return require_POST(view)(request, *args, **kwargs)

    return page


def _page_above(path: str) -> str:
    """Return the nearest address above ``path`` that is a page: the one with its form, as a rule."""
    above = path.rstrip("/").rpartition("/")[0] + "/"
    return above if above == "/" or is_valid_path(above) else _page_above(above)


researchers_page = login_required
"""Make a page for every researcher, such as the list of their studies."""

study_creators_page = permission_required(CREATE, raise_exception=True)
"""Make a page for researchers who may create studies; others, also those not signed in, get 403."""
