"""Jinja templates of texts that are not HTML: Markdown, SVG, JSON.

An indented line goes on with the line before it, and a line that begins with ``%`` is a statement, which
leaves no line. Nothing is escaped by itself: each format has its own escapes.
"""

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension


class _Continued(Extension):
    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        joined = re.sub(r"\n +", " ", source)
        return re.sub(r"^% (.*)\n", r"{% \1 %}", joined, flags=re.MULTILINE)


@cache
def environment(folder: Path) -> Environment:
    """Return the one environment of the templates in a folder, which keeps what it has compiled."""
    return Environment(
        loader=FileSystemLoader(folder),
        extensions=[_Continued],
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - not HTML
    )
