"""Calls of Mechanical Turk's API through boto3: credentials, endpoint, retries."""

from collections.abc import Mapping
from typing import Any, Final

import boto3
import botocore.session
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from botocore.loaders import create_loader
from django.utils.translation import gettext as _

from accounts.models import Environment
from recruitment.marketplace import NotConfigured, Refused, Unreachable
from recruitment.mturk import errors
from recruitment.mturk.environments import ENDPOINTS, is_of_the_other
from tomannot.metrics import timed

REGION = "us-east-1"  # there never was another
ADAPTIVE: Final = {"mode": "adaptive", "total_max_attempts": 4}
"""boto3's retries, which slow down when told to. Quotas are unknown; 2 or 3 calls a second were safe."""
ONCE: Final = {"mode": "standard", "total_max_attempts": 1}
SECONDS, QUICK_SECONDS = (5, 15), (2, 4)
"""To connect, and to answer."""
SERVICE_MODELS: Final = create_loader()
"""Read boto3's description of the service once per process: that is most of the work of making a client."""
PAGE = 100  # the most that a list gives at once


class Api:
    """Operations by their names in the protocol; errors are those of ``recruitment.marketplace``.

    The arguments are those of :class:`recruitment.mturk.marketplace.MechanicalTurk`; ``seconds`` are those to
    wait for a connection, and for an answer. Raise :class:`NotConfigured` without credentials, and when a
    rehearsal is given the live endpoint or the other way round.
    """

    def __init__(
        self,
        *,
        environment: str,
        key_id: str,
        secret: str,
        endpoint: str = "",
        retries: Mapping[str, Any] = ADAPTIVE,
        seconds: tuple[float, float] = SECONDS,
    ) -> None:
        own = ENDPOINTS[Environment(environment)]
        if not key_id or not secret:
            raise NotConfigured(_("Mechanical Turk needs an AWS access key; see docs/mechanical-turk.md."))
        if is_of_the_other(endpoint, environment):
            raise NotConfigured(
                _("%s is of the other environment: the sandbox is for rehearsals only.") % endpoint
            )
        core = botocore.session.Session()
        core.register_component("data_loader", SERVICE_MODELS)
        session = boto3.session.Session(
            aws_access_key_id=key_id, aws_secret_access_key=secret, botocore_session=core
        )
        connect, read = seconds
        config = Config(retries=dict(retries), connect_timeout=connect, read_timeout=read)
        self._client: Any = session.client(
            "mturk", region_name=REGION, endpoint_url=endpoint or own, config=config
        )

    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        """Carry out one operation and return its answer."""
        method = getattr(self._client, xform_name(operation))
        return dict(self._asked(operation, method, params))

    def everything(self, operation: str, part: str, **params: Any) -> list[dict[str, Any]]:
        """Return all rows of a list, from all pages. Change nothing before it has been read to its end."""
        pages = self._client.get_paginator(xform_name(operation))

        def read(**params: Any) -> list[dict[str, Any]]:
            found = pages.paginate(**params, PaginationConfig={"PageSize": PAGE})
            return [row for page in found for row in page[part]]

        return list(self._asked(operation, read, params))

    @timed("platform_call", platform="mturk")
    def _asked(self, operation: str, method: Any, params: Mapping[str, Any]) -> Any:
        try:
            return method(**params)
        except ClientError as error:
            raise errors.error_of(operation, error.response) from None  # the original names workers
        except ParamValidationError as error:
            raise Refused(str(error), code="ParamValidation") from error
        except BotoCoreError as error:
            values = {"operation": operation, "problem": type(error).__name__}
            message = _("Mechanical Turk did not answer to %(operation)s (%(problem)s).") % values
            raise Unreachable(message) from error
