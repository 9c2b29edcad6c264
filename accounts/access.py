"""Who is signed in to the back office, and may change things there. Pages ask ``annotation.rights``."""

from __future__ import annotations

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
