#!/usr/bin/env python3
"""Django's command line, with an embedded PostgreSQL and Redis if the environment names none."""

import os
import sys

from tomannot import embedded

SERVERLESS_COMMANDS = frozenset(
    {
        "help",
        "version",
        "--help",
        "--version",
        "-h",
        "compilemessages",
        "makemessages",
        "collectstatic",
        "verify_release",
    }
)
"""Commands that must work on machines without servers."""

NO_SERVERS = {"DATABASE_URL": "postgresql://absent.invalid/tomannot", "REDIS_URL": "redis://absent.invalid/0"}
"""Well-formed addresses without servers, for the settings of those commands."""


def needs_servers(arguments: list[str]) -> bool:
    """Return True if the command (arguments without the program's name) needs the database or Redis."""
    return (
        bool(arguments) and arguments[0] not in SERVERLESS_COMMANDS and not {"--help", "-h"} & set(arguments)
    )


def say(line: str) -> None:
    print(f"tomannot: {line}", file=sys.stderr, flush=True)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tomannot.settings")
    if needs_servers(sys.argv[1:]):
        try:
            embedded.provide(progress=say)
        except embedded.EmbeddedServerError as error:
            sys.exit(f"tomannot: {error}")
    for name, url in NO_SERVERS.items():
        os.environ.setdefault(name, url)
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
