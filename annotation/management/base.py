"""The base class of all commands: help as it is written, refusals of actions as exit code 1."""

from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.errors import DomainError
from annotation.errors import ImportRefused


class ActionCommand(BaseCommand):
    """A command that calls an action. Its help keeps its lines; ``refusals`` end it with exit code 1."""

    refusals: tuple[type[Exception], ...] = (DomainError,)

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        options["formatter_class"] = RawDescriptionHelpFormatter
        return super().create_parser(prog_name, subcommand, **options)

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except ImportRefused as refusal:
            raise CommandError("\n".join([*map(str, refusal.problems), str(refusal)])) from refusal
        except self.refusals as error:
            raise CommandError(str(error)) from error

    def log(self, text: str) -> None:
        """Say how far the command is, on standard error."""
        self.stderr.write(text, style_func=str)
