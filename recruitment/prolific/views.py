"""Where Prolific posts its notifications."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from recruitment.prolific import actions
from recruitment.prolific.webhooks import InvalidHook, read_hook


@csrf_exempt  # Prolific's signature is the authority; no cookie is read
@never_cache
@require_POST
def hook(request: HttpRequest, environment: str) -> HttpResponse:
    """A notification: taken for a hint if Prolific signed it, and refused otherwise."""
    secret = settings.PROLIFIC_WEBHOOK_SECRETS.get(environment, "")
    try:
        hint = read_hook(request.headers, request.body, secret=secret)
    except InvalidHook:
        return HttpResponse(status=403)
    actions.take_hint(hint=hint, environment=environment, now=timezone.now())
    return HttpResponse(status=204)
