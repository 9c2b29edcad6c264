from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from operations.actions import BackupError, back_up
from publishing.errors import PublishingError


class Command(BaseCommand):
    help = """Back up the database, published releases and waiting uploads to a new directory.

Everything is of one moment, and people can go on working. SECRET_KEY is not in it: keep it elsewhere, or
nobody's link works after a restore. The directory holds personal data; only its owner can enter it.

examples:
  manage.py backup /backups/2026-11-23
  (cd /backups/2026-11-23 && sha256sum --quiet -c MANIFEST)

exit codes: 0 everything is in it · 1 refused, or a release on the disk is damaged and not in it"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("directory", metavar="DIR", type=Path, help="a directory that does not exist")

    def handle(self, *args: Any, **options: Any) -> None:
        directory: Path = options["directory"].absolute()
        try:
            problems = back_up(directory=directory, progress=self.stderr.write)
        except (BackupError, PublishingError, DatabaseError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(str(directory))
        self.stderr.write("SECRET_KEY is not in it: keep it elsewhere, or nobody's link works afterwards.")
        if problems:
            raise CommandError("Not in the backup, because they are damaged:\n" + "\n".join(problems))
