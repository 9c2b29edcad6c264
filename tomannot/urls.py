"""The addresses of the site. Each room brings its own."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("join/", include("recruitment.urls")),
    path("", include("recruitment.link_urls")),
    path("work/<str:token>/qualification/", include("qualification.urls")),
    path("work/<str:token>/", include("annotation.urls")),
    path("releases/", include("publishing.urls")),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("", include("dashboard.urls")),
]
