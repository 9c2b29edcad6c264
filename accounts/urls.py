"""Signing in and out."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from accounts import views

app_name = "accounts"
urlpatterns = [
    path("sign-in/", views.SignIn.as_view(), name="sign_in"),
    path("sign-out/", LogoutView.as_view(next_page="dashboard:home"), name="sign_out"),
    path("password/", views.ChangePassword.as_view(), name="password"),
]
