"""Under ``hooks/mturk/``."""

from __future__ import annotations

from django.urls import path

from recruitment.mturk import views

app_name = "mturk"
urlpatterns = [
    path("<slug:environment>/", views.notification, name="notification"),
]
