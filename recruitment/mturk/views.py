"""The page to which Amazon SNS posts Mechanical Turk's notifications."""

import logging

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from recruitment.mturk import actions
from recruitment.mturk.notifications import (
    InvalidNotification,
    confirmation_in,
    knows_password,
    read_notification,
)
from tomannot import clock

logger = logging.getLogger(__name__)


@csrf_exempt  # the password of the subscription is the authority; no cookie is read
@never_cache
@require_POST
def hook(request: HttpRequest, environment: str) -> HttpResponse:
    """Take a notification for a hint if it has the password, which SNS sends once asked for it."""
    account = settings.MTURK.get(environment, {})
    if not knows_password(request.headers, account.get("notification_password", "")):
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Basic realm="tomannot"'})
    try:
        hint = read_notification(request.body, topic=account["notification_topic"])
    except InvalidNotification:
        return _other_message(request.body, account["notification_topic"])
    actions.handle_notification(hint=hint, environment=environment, now=clock.now())
    return HttpResponse(status=204)


def _other_message(body: bytes, topic: str) -> HttpResponse:
    """Answer SNS's question whether it may post here: an operator opens the address in the log to agree."""
    url = confirmation_in(body, topic=topic)
    if url:
        logger.warning("Open this address to let SNS post notifications here: %s", url)
        return HttpResponse(status=204)
    logger.warning("A message was not taken: it is no notification of the topic that is set.")
    return HttpResponse(status=400)
