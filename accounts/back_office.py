"""The back office: Django's admin with the Unfold theme. It shows every record and changes accounts only."""

from collections.abc import Callable
from typing import Any, ClassVar

from csp.constants import SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.decorators import csp_update
from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.sites import UnfoldAdminSite

_UNFOLD_NEEDS: Callable[[Callable[..., Any]], Callable[..., Any]] = csp_update(
    {"script-src": [UNSAFE_EVAL], "style-src": [UNSAFE_INLINE], "connect-src": [SELF]}
)
"""Unfold's Alpine.js evaluates expressions. Only signed-in staff ever see these pages."""


class BackOfficeSite(UnfoldAdminSite):
    """The admin site, with the weaker content security policy that its scripts need."""

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        return _UNFOLD_NEEDS(super().admin_view(view, cacheable))

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Redirect to the sign-in page, which limits guessing. Refuse signed-in users who are not staff."""
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.GET.get("next") or request.path)


class _ReadOnly:
    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission


class ReadOnlyAdmin(_ReadOnly, ModelAdmin):
    """Show every field and change nothing: writes go through actions, which the audit log records."""

    show_full_result_count = False
    list_per_page = 50
    list_select_related: ClassVar[Any] = True


class ReadOnlyInline(_ReadOnly, TabularInline):
    extra = 0
    can_delete = False
    hide_title = True


def inline(model: type[Model], *fields: str) -> type[ReadOnlyInline]:
    """Return related rows of a model to show below a record: the named fields, or all of them."""
    attributes = {"model": model} | ({"fields": fields} if fields else {})
    return type(f"{model.__name__}Inline", (ReadOnlyInline,), attributes)


def show(
    model: type[Model], *columns: str, base: type[ReadOnlyAdmin] = ReadOnlyAdmin, **options: Any
) -> None:
    """List a model in the back office with these columns, read-only, with options that a ModelAdmin has."""
    if unknown := [name for name in options if not hasattr(base, name)]:
        raise TypeError(f"A ModelAdmin has no {', '.join(unknown)}.")
    attributes = {"list_display": columns, **options}
    admin.site.register(model, type(f"{model.__name__}Admin", (base,), attributes))
