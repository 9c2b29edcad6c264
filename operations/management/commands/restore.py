from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from operations.actions import BackupError, restore
from publishing.errors import PublishingError


class Command(BaseCommand):
    help = """Restore a backup into an empty database, RELEASES_ROOT and MEDIA_ROOT, and check the releases.

Refuses a database with tables in it, a backup of another version, and one whose files have changed. If it
is cut short, run it again. Give the installation the SECRET_KEY that it had.

examples:
  createdb tomannot && manage.py restore /backups/2026-11-23 && manage.py check_integrity

exit codes: 0 restored · 1 refused; the database is as empty as before"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("directory", metavar="DIR", type=Path, help="what manage.py backup wrote")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            releases = restore(directory=options["directory"].absolute(), progress=self.stderr.write)
        except (BackupError, PublishingError, DatabaseError, OSError) as error:
            raise CommandError(str(error)) from error
        for release in releases:
            self.stdout.write(f"ok {release}")
        self.stderr.write("Restored. Now run manage.py check_integrity and manage.py doctor.")
