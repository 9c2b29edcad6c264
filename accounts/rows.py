"""Lock rows until the transaction ends."""

from typing import TypeVar

from django.db.models import Model

Row = TypeVar("Row", bound=Model)


def locked(row: Row, *related: str) -> Row:
    """Lock a row against other writers, and return it as it is now, with the ``related`` rows."""
    rows = type(row)._default_manager.select_for_update(of=("self",), no_key=True)
    return (rows.select_related(*related) if related else rows).get(pk=row.pk)
