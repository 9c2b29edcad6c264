"""Django's PostgreSQL engine, with less to do for each request, cursor and time.

Django has psycopg's pool ask the server before each request whether the connection still works. That was a
quarter of the transactions of a vote, and an eighth of the web server's time. But a server that ends a
connection says so, and if it dies, the kernel does; so an idle connection with nothing to read is open.
"""

import select
from typing import Any

from django.db.backends.postgresql import base
from django.db.backends.utils import CursorWrapper
from psycopg import Connection
from psycopg.types.datetime import TimestamptzLoader
from psycopg_pool import ConnectionPool


def check_connection(connection: Connection[Any]) -> None:
    """Raise ``OperationalError`` if the server has ended the connection, by what it sent unasked."""
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    if waiting.poll(0):
        ConnectionPool.check_connection(connection)


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        """Read times by psycopg's compiled loader. Django's, in Python, takes ten times as long."""
        params: dict[str, Any] = super().get_connection_params()
        params["context"].register_loader("timestamptz", TimestamptzLoader)
        return params

    def create_cursor(self, name: str | None = None) -> Any:
        """Do what Django does, except to ask its own loader of times for the time zone, which is UTC."""
        if name is None:
            return self.connection.cursor()
        return self.connection.cursor(name, scrollable=False, withhold=self.connection.autocommit)

    def kept_cursor(self, statement: str) -> CursorWrapper:
        """Return the connection's own cursor for this statement. Read all rows at once; do not close it.

        A new cursor finds out anew how each parameter and column of the statement is converted.
        """
        self.ensure_connection()
        kept: dict[str, Any] = self.connection.__dict__.setdefault("kept_cursors", {})
        if statement not in kept:
            kept[statement] = self.create_cursor()
        return self._prepare_cursor(kept[statement])  # type: ignore[attr-defined, no-any-return]

    @property
    def pool(self) -> Any:
        pool = super().pool
        if pool:
            pool._check = check_connection  # Django gives the pool its own check, and offers no choice
        return pool
