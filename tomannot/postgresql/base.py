"""Django's PostgreSQL engine, whose check of a pooled connection costs no round trip.

Django has psycopg's pool ask the server before each request whether the connection still works. That was a
quarter of the transactions of a vote, and an eighth of the web server's time. But a server that ends a
connection says so, and if it dies, the kernel does; so an idle connection with nothing to read is open.
"""

import select
from typing import Any

from django.db.backends.postgresql import base
from psycopg import Connection
from psycopg_pool import ConnectionPool


def check_connection(connection: Connection[Any]) -> None:
    """Raise ``OperationalError`` if the server has ended the connection, by what it sent unasked."""
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    if waiting.poll(0):
        ConnectionPool.check_connection(connection)


class DatabaseWrapper(base.DatabaseWrapper):
    """The engine that the settings name."""

    @property
    def pool(self) -> Any:
        pool = super().pool
        if pool:
            pool._check = check_connection  # Django gives the pool its own check, and offers no choice
        return pool
