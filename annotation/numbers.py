"""Whole numbers in texts. Pure."""

MOST_DIGITS = 18
"""Numbers with so many digits fit into PostgreSQL's bigint."""


def number_in(text: str | None) -> int:
    """Return the whole number that the text spells; 0, which no row has, for anything else."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0
