import os
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks


class RecruitmentConfig(AppConfig):
    name = "recruitment"

    def ready(self) -> None:
        """Have ``manage.py check`` look at the settings of mail."""
        checks.register(check_sender)


def check_sender(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Warn about mail that leaves this site without a sender that its mail server may send for."""
    if not os.environ.get("EMAIL_URL", "").startswith("smtp") or os.environ.get("DEFAULT_FROM_EMAIL"):
        return []
    return [
        checks.Warning(
            "EMAIL_URL is set and DEFAULT_FROM_EMAIL is not, so mails come from "
            f"{settings.DEFAULT_FROM_EMAIL}, which mail servers refuse.",
            hint="Set DEFAULT_FROM_EMAIL to an address that your mail server may send for.",
            id="recruitment.W001",
        )
    ]
