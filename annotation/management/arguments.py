"""Find studies and enrollments that are named on the command line."""

from argparse import ArgumentTypeError

from django.core.management.base import CommandError

from annotation.models import Enrollment, Study


def find_study(slug: str) -> Study:
    """Return the study with this slug. Raise ``CommandError`` that lists the known ones."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no study “{slug}”. Studies here: {known}.")
    return study


def enrollment_number(text: str) -> int:
    """Parse the id of an enrollment. Raise ``ArgumentTypeError`` if it is no number."""
    if text.isascii() and text.isdigit() and len(text) < 18:
        return int(text)
    raise ArgumentTypeError(f"an enrollment is a number, as the back office lists it, not {text!r}")


def find_enrollment(number: int) -> Enrollment:
    """Return the enrollment with this id. Raise ``CommandError`` if there is none."""
    enrollment = Enrollment.objects.select_related("study").filter(pk=number).first()
    if enrollment is None:
        raise CommandError(f"There is no enrollment {number}. The back office lists them (Enrollments).")
    return enrollment
