"""Fields that models of every room have."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from django.conf import settings
from django.core.validators import BaseValidator, MaxValueValidator, MinValueValidator
from django.db import models

if TYPE_CHECKING:
    from accounts.models import User

Row = TypeVar("Row", bound=models.Model)


def researcher(related_name: str = "+", **options: Any) -> models.ForeignKey[User | None, User | None]:
    """Return a field for the researcher who did something; None for a command or the system."""
    return optional(settings.AUTH_USER_MODEL, related_name, **options)


def optional(
    to: type[Row] | str, related_name: str = "+", **options: Any
) -> models.ForeignKey[Row | None, Row | None]:
    """Return a field for a related row that may be missing, and that cannot be deleted meanwhile."""
    return models.ForeignKey(
        to, on_delete=models.PROTECT, null=True, blank=True, related_name=related_name, **options
    )


def optional_time(help_text: Any = "") -> models.DateTimeField[datetime | None, datetime | None]:
    """Return a field for the time of something that may not have happened."""
    return models.DateTimeField(null=True, blank=True, help_text=help_text)


def between(least: int, most: int) -> list[BaseValidator]:
    """Return the validators of a number's range."""
    return [MinValueValidator(least), MaxValueValidator(most)]
