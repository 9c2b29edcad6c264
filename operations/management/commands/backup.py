from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import DatabaseError

from accounts.errors import DomainError
from annotation.management.base import ActionCommand
from operations.actions import back_up


class Command(ActionCommand):
    refusals = (DomainError, DatabaseError, OSError)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIR", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        directory: Path = options["directory"].absolute()
        problems = back_up(directory=directory, progress=self.stderr.write)
        self.stdout.write(str(directory))
        self.stderr.write("SECRET_KEY is not in it: keep it elsewhere, or nobody's link works afterwards.")
        if problems:
            raise CommandError("Not in the backup, because they are damaged:\n" + "\n".join(problems))
