"""How people come by their link again, and the address to which it may be sent."""

from __future__ import annotations

from django.urls import path

from recruitment import views

app_name = "link"
urlpatterns = [
    path("again/", views.again, name="again"),
    path("confirm/<str:token>/", views.confirm, name="confirm"),
    path("work/<str:token>/you/email/", views.address, name="address"),
]
