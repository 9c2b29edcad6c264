"""The page to which Prolific posts its notifications."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from recruitment.prolific import actions
from recruitment.prolific.webhooks import InvalidHook, read_hook
from tomannot import clock


@csrf_exempt  # Prolific's signature is the authority; no cookie is read
@never_cache
@require_POST
def hook(request: HttpRequest, environment: str) -> HttpResponse:
    """Take a notification for a hint if Prolific signed it, and refuse it otherwise."""
    secret = settings.PROLIFIC_WEBHOOK_SECRETS.get(environment, "")
    try:
        hint = read_hook(request.headers, request.body, secret=secret)
    except InvalidHook:
        return HttpResponse(status=403)
    actions.handle_notification(hint=hint, environment=environment, now=clock.now())
    return HttpResponse(status=204)
