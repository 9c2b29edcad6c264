"""The web server's command line, for the demo, the tests and the benchmark.

The Dockerfile and the operators' guide repeat it; ``tests/bench`` compares them.
"""

import sys

APPLICATION = "tomannot.wsgi:application"
OPTIONS = (
    "--interface", "wsgi", "--workers", "2", "--blocking-threads", "4", "--no-ws", "--respawn-failed-workers",
)  # fmt: skip
"""One worker per core, with four threads each (docs/benchmarks.md); a dead worker is replaced."""


def command(*, host: str, port: int) -> list[str]:
    where = ["--host", host, "--port", str(port)]
    return [sys.executable, "-m", "granian", *OPTIONS, *where, APPLICATION]
