"""The addresses of the site. Each room brings its own."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("join/", include("recruitment.urls")),
    path("", include("recruitment.link_urls")),
    path("hooks/mturk/", include("recruitment.mturk.urls")),
    path("hooks/prolific/", include("recruitment.prolific.urls")),
    path("work/<str:token>/qualification/", include("qualification.urls")),
    path("work/<str:token>/", include("annotation.urls")),
    path("releases/", include("publishing.urls")),
    path("api/v1/", include("dashboard.api.urls")),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("", include("dashboard.urls")),
]

# Under /api/ these answer in JSON.
handler400 = "dashboard.api.problems.bad_request"
handler403 = "dashboard.api.problems.permission_denied"
handler404 = "dashboard.api.problems.page_not_found"
handler500 = "dashboard.api.problems.server_error"
