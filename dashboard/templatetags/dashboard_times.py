"""Moments as the researchers' pages write them: for people, with the zone, and for programs."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

register = template.Library()


@register.filter
def moment(value: datetime | str | None) -> SafeString | str:
    """``<time datetime="…">2026-11-22 08:01 UTC</time>``; nothing for anything else."""
    if not isinstance(value, datetime):  # nothing, or what a page does not have
        return ""
    said = date_format(localtime(value), "DATETIME_FORMAT")
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), said)
