"""Fields, constraints and database triggers that models of every room have."""

from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import pgtrigger
from django.core.validators import BaseValidator, MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint

Row = TypeVar("Row", bound=models.Model)


def optional(
    to: type[Row] | str, related_name: str = "+", **options: Any
) -> models.ForeignKey[Row | None, Row | None]:
    """Return a field for a related row that may be missing, and that cannot be deleted meanwhile."""
    return models.ForeignKey(
        to, on_delete=models.PROTECT, null=True, blank=True, related_name=related_name, **options
    )


def optional_time(help_text: Any = "") -> "models.DateTimeField[datetime | None, datetime | None]":
    """Return a field for the time of something that may not have happened."""
    return models.DateTimeField(null=True, blank=True, help_text=help_text)


def optional_number(help_text: Any) -> "models.PositiveSmallIntegerField[int | None, int | None]":
    """Return a field for a small number that not every row has."""
    return models.PositiveSmallIntegerField(null=True, blank=True, help_text=help_text)


def optional_text(max_length: int, help_text: Any) -> "models.CharField[str, str]":
    """Return a field for a short text, empty if there is none."""
    return models.CharField(max_length=max_length, blank=True, help_text=help_text)


def flag(help_text: Any = "", *, initial: bool = False) -> "models.BooleanField[bool, bool]":
    """Return a boolean field with this default, in Python and in the database."""
    return models.BooleanField(default=initial, db_default=initial, help_text=help_text)


def between(least: int, most: int) -> list[BaseValidator]:
    """Return the validators of a number's range."""
    return [MinValueValidator(least), MaxValueValidator(most)]


def check(name: str, condition: Q) -> CheckConstraint:
    """Make a constraint that every row meets the condition."""
    return CheckConstraint(name=name, condition=condition)


def unique(name: str, fields: list[str], condition: Q | None = None) -> UniqueConstraint:
    """Make a constraint that no two rows, or no two that meet the condition, share these fields."""
    return UniqueConstraint(name=name, fields=fields, condition=condition)


CHANGE = pgtrigger.Update | pgtrigger.Delete


def final(
    name: str, operation: pgtrigger.Operation = CHANGE, *, condition: pgtrigger.Condition | None = None
) -> pgtrigger.Protect:
    """Make a trigger that forbids the operation, by default changing and deleting rows."""
    return pgtrigger.Protect(name=name, operation=operation, condition=condition)


def fixed(name: str, fields: list[str]) -> pgtrigger.ReadOnly:
    """Make a trigger that forbids changing these fields."""
    return pgtrigger.ReadOnly(name=name, fields=fields)


def stays(name: str) -> pgtrigger.Protect:
    """Make a trigger that forbids deleting rows."""
    return final(name, pgtrigger.Delete)


def refuse_if(condition: str, message: str) -> str:
    """Return PL/pgSQL for :func:`before` or :func:`after` that refuses rows for which this SQL is true."""
    return f"""
    IF {condition} THEN
        RAISE EXCEPTION '{message}';
    END IF;
    RETURN COALESCE(NEW, OLD);
"""


def _trigger(
    when: pgtrigger.When,
    name: str,
    operation: pgtrigger.Operation,
    func: str,
    *,
    condition: pgtrigger.Condition | None = None,
) -> pgtrigger.Trigger:
    return pgtrigger.Trigger(name=name, operation=operation, when=when, func=func, condition=condition)


before, after = partial(_trigger, pgtrigger.Before), partial(_trigger, pgtrigger.After)
