"""The base of all commands: help from docs/commands.md, refusals as exit code 1, studies by name."""

import inspect
import re
import textwrap
from argparse import ArgumentTypeError, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.utils import ProgrammingError
from psycopg.errors import UndefinedTable

from accounts.errors import DomainError
from annotation.errors import ImportRefused
from annotation.models import Enrollment, Study
from annotation.numbers import number_in
from tomannot.text_templates import environment

_NO_TABLES = (
    "The database has no tables of tomannot. Name the right one in DATABASE_URL (for the data of a demo, its "
    "directory in TOMANNOT_VAR), or run manage.py migrate."
)
PAGE = settings.BASE_DIR / "docs" / "commands.md"


def documented(command: str) -> str:
    """Return what the page says of a command and its options; argparse writes the synopsis."""
    section = re.search(
        rf"^## {command}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"\[([^]]+)\]\(([^)]+)\)", r"\1 (docs/\2)", section[1] if section else "")
    paragraphs = text.strip().split("\n\n")[1:]
    fill = textwrap.TextWrapper(100, break_on_hyphens=False, break_long_words=False).fill
    return "\n\n".join(one if one.startswith(("    ", "|")) else fill(one) for one in paragraphs)


class ActionCommand(BaseCommand):
    """A command that calls an action, with :func:`documented` help; ``refusals`` end it with exit code 1."""

    refusals: tuple[type[Exception], ...] = (DomainError,)

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        self.help = documented(subcommand)
        options["formatter_class"] = RawDescriptionHelpFormatter
        return super().create_parser(prog_name, subcommand, **options)

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except ImportRefused as refusal:
            raise CommandError("\n".join([*map(str, refusal.problems), str(refusal)])) from refusal
        except self.refusals as error:
            raise CommandError(str(error)) from error
        except ProgrammingError as error:
            if not isinstance(error.__cause__, UndefinedTable):
                raise
            raise CommandError(_NO_TABLES) from error

    def text(self, **facts: Any) -> str:
        """Return the command's text about these facts: of the template beside it, which has its name."""
        source = Path(inspect.getfile(type(self)))
        return environment(source.parent).get_template(f"{source.stem}.jinja").render(facts)

    def log(self, text: str) -> None:
        """Say how far the command is, on standard error."""
        self.stderr.write(text, style_func=str)


def find_study(slug: str) -> Study:
    """Return the study with this slug. Raise ``CommandError`` that lists the known ones."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no study “{slug}”. Studies here: {known}.")
    return study


def enrollment_number(text: str) -> int:
    """Parse the id of an enrollment. Raise ``ArgumentTypeError`` if it is no number."""
    if number := number_in(text):
        return number
    raise ArgumentTypeError(f"an enrollment is a number, as the back office lists it, not {text!r}")


def find_enrollment(number: int) -> Enrollment:
    """Return the enrollment with this id. Raise ``CommandError`` if there is none."""
    enrollment = Enrollment.objects.select_related("study").filter(pk=number).first()
    if enrollment is None:
        raise CommandError(f"There is no enrollment {number}. The back office lists them (Enrollments).")
    return enrollment
