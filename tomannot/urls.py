"""The site's addresses. Each room has its own."""

from django.contrib import admin
from django.urls import include, path

from tomannot import health

urlpatterns = [
    path("work/<str:token>/", include("annotation.urls")),  # first, since most requests ask for these
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("", include("operations.urls")),
    path("", include("recruitment.urls")),
    path("work/<str:token>/qualification/", include("qualification.urls")),
    path("releases/", include("publishing.urls")),
    path("api/v1/", include("api.urls")),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("", include("dashboard.urls")),
]

# Under /api/, these answer in JSON.
handler400 = "api.problems.bad_request"
handler403 = "api.problems.permission_denied"
handler404 = "api.problems.page_not_found"
handler500 = "api.problems.server_error"
