"""The OpenAPI schema, as it stands in docs/openapi.yaml: a test holds that the file is what the code says."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

PATH = settings.BASE_DIR / "docs" / "openapi.yaml"


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """The schema, for anybody: it says nothing that the documentation does not."""
    return HttpResponse(PATH.read_bytes(), content_type="application/yaml")
