"""Our pages of signing in and out, and those of django-allauth under its own names."""

from collections.abc import Callable

from allauth.account.decorators import reauthentication_required
from django.contrib.auth.views import LogoutView
from django.http import HttpResponse
from django.urls import include, path
from django.utils.module_loading import import_string

from accounts import views


def lazily(view: str) -> Callable[..., HttpResponse]:
    """Return a view that imports django-allauth on first use: that takes half a second, and few need it."""
    return lambda request, **named: import_string(f"allauth.{view}")(request, **named)


YOURS, FACTOR = "your-account", "your-account/second-factor"
address = reauthentication_required(lazily("account.views.email"))
OURS = [
    path("sign-in/", views.SignIn.as_view(), name="sign_in"),
    path("sign-out/", LogoutView.as_view(next_page="dashboard:home"), name="sign_out"),
    path("password/", views.ChangePassword.as_view(), name="password"),
]
urlpatterns = [
    path("", include((OURS, "accounts"))),
    path("sign-in/", views.SignIn.as_view(), name="account_login"),
    path("sign-in/provider/<str:step>/", views.openid, name="openid"),
    path(f"{YOURS}/confirm/", lazily("account.views.reauthenticate"), name="account_reauthenticate"),
    path(f"{YOURS}/address/", address, name="account_email"),
    path(f"{YOURS}/address/<str:key>/", lazily("account.views.confirm_email"), name="account_confirm_email"),
    path(f"{YOURS}/sessions/", lazily("usersessions.views.list_usersessions"), name="usersessions_list"),
]
urlpatterns += [
    path(f"{FACTOR}/{page}", lazily(f"mfa.{view}"), name=f"mfa_{view.rpartition('.')[2]}")
    for page, view in (
        ("", "base.views.index"),
        ("authenticate/", "base.views.authenticate"),
        ("reauthenticate/", "base.views.reauthenticate"),
        ("totp/activate/", "totp.views.activate_totp"),
        ("totp/deactivate/", "totp.views.deactivate_totp"),
        ("recovery-codes/", "recovery_codes.views.view_recovery_codes"),
        ("recovery-codes/generate/", "recovery_codes.views.generate_recovery_codes"),
    )
]
