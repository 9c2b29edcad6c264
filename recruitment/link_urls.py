"""How people come by their link again, where it may be sent, and how they hand their work in."""

from __future__ import annotations

from django.urls import path

from recruitment import campaign_views, views

app_name = "link"
urlpatterns = [
    path("again/", views.again, name="again"),
    path("confirm/<str:token>/", views.confirm, name="confirm"),
    path("work/<str:token>/you/email/", views.address, name="address"),
    path("work/<str:token>/hand-in/", campaign_views.hand_in, name="hand_in"),
]
