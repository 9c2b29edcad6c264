"""What a token is for, before anything is looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from dashboard.api.problems import MissingScope

if TYPE_CHECKING:
    from dashboard.api.base import ApiView


class HasScope(BasePermission):
    """The token is for what the method does."""

    def has_permission(self, request: Request, view: ApiView) -> bool:
        """Raises :class:`~dashboard.api.problems.MissingScope`."""
        scope = view.scopes.get(view.method_of(request))
        if scope is not None and not request.auth.allows(scope):
            raise MissingScope(f"The token lacks the scope {scope.value}.")
        return True
