"""Who is signed in to the back office, and that it is still they. Pages ask ``annotation.rights``."""

from __future__ import annotations

from django.contrib.auth import authenticate
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.models import User

CHANGE = "annotation.change_study"


def researcher(request: HttpRequest) -> User:
    """The administrator who sent the request, for an action of the back office that changes a study.

    Raises ``PermissionDenied`` for anybody who may not.
    """
    if not isinstance(request.user, User) or not request.user.has_perm(CHANGE):
        raise PermissionDenied
    return request.user


def knows_password(request: HttpRequest, user: User, password: str) -> bool:
    """Whether this is the password of ``user``, asked again before something that outlives the session.

    Wrong ones count with those of the sign-in page: after too many, django-axes answers the request.
    """
    return authenticate(request, username=user.get_username(), password=password) == user
