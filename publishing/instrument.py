"""The instrument: all that people read and answered, as it stood when they voted. Pure.

``instrument/instrument.json`` holds it for programs; :func:`readable` writes the same as Markdown.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from django.utils.translation import override

from annotation.models import InstructionText
from annotation.protocols.base import Protocol
from annotation.protocols.instructions import as_written, read_examples
from publishing.card.sections import rendered
from publishing.files import jsonl
from publishing.totals import Tally

WRITTEN = ("page", "examples", "before_test", "thanks")
"""The texts that a study may write itself (``annotation.models.InstructionText``)."""
UNUSUAL = ("optional", "only_after")
"""Attributes that the instrument names only for questions that have them."""


def form_of(protocol: Protocol, language: str, custom: InstructionText | None = None) -> dict[str, Any]:
    with override(language):
        texts = as_written(protocol.instructions, protocol.questions)
        examples = {one.key: read_examples(one, texts["examples"][one.key]) for one in protocol.questions}
        defaults = {"page": texts["page"], "examples": examples, "before_test": "", "thanks": ""}
        return {
            "version": custom.version if custom else 0,
            "language": language,
            "title": str(protocol.title),
            "questions": _plain(protocol.questions),
            **({"by_row": _plain(protocol.by_row)} if protocol.by_row else {}),
            **({"open_table": _plain(protocol.open_table)} if protocol.open_table else {}),
            **({name: getattr(custom, name) for name in WRITTEN} if custom else defaults),
        }


def _plain(value: Any) -> Any:
    """Return dataclasses as objects, sequences as lists, and lazy texts in the current language."""
    if is_dataclass(value):
        values = {item.name: getattr(value, item.name) for item in fields(value)}
        return {name: _plain(one) for name, one in values.items() if one or name not in UNUSUAL}
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, bool) else str(value)


def document(instrument: Mapping[str, Any], tally: Tally) -> dict[str, Any]:
    """Return the content of ``instrument.json``: the forms that counted votes name, with their numbers."""
    forms = [
        {"votes": tally.forms[place], **form}
        for form in instrument["forms"]
        if (place := (form["version"], form["language"])) in tally.forms
    ]
    return {**instrument, "forms": forms}


def readable(instrument: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the Markdown files of an ``instrument.json`` by path.

    Raise :class:`jinja2.UndefinedError`, or as reading plain values does, for what is none.
    """
    pages: dict[str, dict[str, Any]] = {
        f"form-{form['version']}-{form['language']}": {"form": form} for form in instrument["forms"]
    }
    for consent in instrument["consent"]:
        pages[f"consent-{consent['version']}"] = {"consent": consent, "pay": instrument["pay"]}
    if instrument["test"] is not None:
        rounds = jsonl.document({"rounds": instrument["test"]}).decode().rstrip().replace("`", "\\u0060")
        pages["qualification-test"] = {"test": rounds}
    others = {"form": None, "consent": None}
    return {
        f"instrument/{name}.md": f"{rendered('instrument.jinja', **others | told)}\n".encode()
        for name, told in pages.items()
    }
