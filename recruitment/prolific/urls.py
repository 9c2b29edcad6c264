"""Under ``hooks/prolific/``."""

from __future__ import annotations

from django.urls import path

from recruitment.prolific import views

app_name = "prolific"
urlpatterns = [
    path("<slug:environment>/", views.hook, name="hook"),
]
