"""What the commands about one person share."""

from __future__ import annotations

from argparse import ArgumentTypeError

from django.core.management.base import CommandError

from annotation.models import Enrollment


def enrollment_number(text: str) -> int:
    """The number of an enrollment from the command line."""
    if text.isascii() and text.isdigit() and len(text) < 18:
        return int(text)
    raise ArgumentTypeError(f"an enrollment is a number, as the back office lists it, not {text!r}")


def find_enrollment(number: int) -> Enrollment:
    """The enrollment a command names. Raises ``CommandError``."""
    enrollment = Enrollment.objects.select_related("study").filter(pk=number).first()
    if enrollment is None:
        raise CommandError(f"There is no enrollment {number}. The back office lists them (Enrollments).")
    return enrollment
