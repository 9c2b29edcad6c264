"""Pages of django-allauth under its own names: of an account, and those it leads to."""

from allauth.account.decorators import reauthentication_required
from allauth.account.views import confirm_email, email, reauthenticate
from allauth.usersessions.views import list_usersessions
from django.urls import include, path

from accounts import views

urlpatterns = [
    path("sign-in/", views.SignIn.as_view(), name="account_login"),
    path("your-account/confirm/", reauthenticate, name="account_reauthenticate"),
    path("your-account/address/", reauthentication_required(email), name="account_email"),
    path("your-account/address/<str:key>/", confirm_email, name="account_confirm_email"),
    path("your-account/sessions/", list_usersessions, name="usersessions_list"),
    path("your-account/second-factor/", include("allauth.mfa.urls")),
]
