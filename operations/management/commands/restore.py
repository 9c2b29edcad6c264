from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.db import DatabaseError

from accounts.errors import DomainError
from annotation.management.base import ActionCommand
from operations.actions import restore


class Command(ActionCommand):
    refusals = (DomainError, DatabaseError, OSError)
    help = """Restore a backup into an empty database, RELEASES_ROOT and MEDIA_ROOT, and check the releases.

Refuses a database with tables in it, a backup of another version, and one whose files have changed. If it
is cut short, run it again. Give the installation the SECRET_KEY that it had.

examples:
  createdb tomannot && manage.py restore /backups/2026-11-23 && manage.py check_integrity

exit codes: 0 restored · 1 refused; the database is as empty as before"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIR", type=Path, help="what manage.py backup wrote")

    def handle(self, *args: Any, **options: Any) -> None:
        releases = restore(directory=options["directory"].absolute(), progress=self.stderr.write)
        for release in releases:
            self.stdout.write(f"ok {release}")
        self.stderr.write("Restored. Now run manage.py check_integrity and manage.py doctor.")
