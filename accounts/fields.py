"""Fields that models of every room have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    from accounts.models import User


def researcher() -> models.ForeignKey[User | None, User | None]:
    """Return a field for the researcher who did something; None for a command or the system."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
