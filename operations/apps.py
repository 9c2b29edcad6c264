from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core import checks

from tomannot.health import too_old


class OperationsConfig(AppConfig):
    name = "operations"

    def ready(self) -> None:
        """Have ``manage.py migrate``, and ``check --database default``, refuse an old PostgreSQL."""
        checks.register(check_postgresql, checks.Tags.database)


def check_postgresql(
    app_configs: Sequence[AppConfig] | None, *, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Return an error if the server is older than what tomannot is tested on."""
    problem = too_old() if databases else ""
    return [checks.Error(problem, id="operations.E001")] if problem else []
