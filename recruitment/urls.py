"""Under ``join/``: where people arrive. A personal link's token has a full stop in it, a slug has none."""

from __future__ import annotations

from django.urls import path

from recruitment import campaign_views, views

app_name = "recruitment"
urlpatterns = [
    path("<slug:slug>/", views.join, name="join"),
    path("<slug:slug>/<int:number>/", campaign_views.campaign, name="campaign"),
    path("<str:token>/", views.arrive, name="arrive"),
]
