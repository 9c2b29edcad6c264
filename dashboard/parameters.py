"""Read numbers and form tokens from what a browser sent."""

from uuid import UUID

from django.http import HttpRequest

MOST_DIGITS = 18
"""Numbers with so many digits fit into PostgreSQL's bigint."""
MOST_PAGES = 10**6
"""So that the number of a row fits there, too."""


def number_in(text: str | None) -> int | None:
    """Return the positive whole number that the text spells, or None for anything else."""
    if text is None or len(text) > MOST_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    return int(text) or None


def page_number(request: HttpRequest) -> int:
    """Return the number of the requested page of a list, or 1 if there can be no such page."""
    number = number_in(request.GET.get("page"))
    return number if number and number <= MOST_PAGES else 1


def form_token(request: HttpRequest) -> UUID | None:
    """Return the form's idempotency token, or None if it is missing or malformed."""
    try:
        return UUID(request.POST.get("token", ""))
    except ValueError:
        return None
