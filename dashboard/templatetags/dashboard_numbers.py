"""Numbers as the researchers' pages write them."""

from __future__ import annotations

from django import template

from dashboard.charts.stories import percent

register = template.Library()
register.filter("percent", percent)
