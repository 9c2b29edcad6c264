"""Under ``join/``: where people arrive. A personal link's token has a full stop in it, a slug has none."""

from __future__ import annotations

from django.urls import path

from recruitment import views

app_name = "recruitment"
urlpatterns = [
    path("<slug:slug>/", views.join, name="join"),
    path("<str:token>/", views.arrive, name="arrive"),
]
