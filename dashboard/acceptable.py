"""Which options are accepted as right answers about one story: a form of the protocol's own questions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.protocols.base import Protocol, Question, Row, field_name

Acceptable = Mapping[str, Collection[str]]
"""Per form field of the protocol (``q1``, or ``question.row``): the keys of the options that are accepted."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One thing that is asked about the story, with the field in which its options are accepted."""

    number: int
    """Of the question, counted from one as people see it."""
    question: Question
    row: Row
    name: str
    """Of the form field in which people answer it."""
    field: forms.BoundField

    @property
    def accepts_everything(self) -> bool:
        """Whether every answer that is offered is ticked: then the question tests nothing."""
        return len(set(self.field.value() or ())) == len(self.field.field.choices)  # type: ignore[attr-defined]


class AcceptableForm(forms.Form):
    """For everything the protocol asks about one story, the options that are accepted; at least one each.

    ``initial`` holds what is ticked at first, by the protocol's field names. Several of these forms fit
    on a page with a ``prefix`` each. One :class:`Cell` is shown by ``dashboard/_acceptable_options.html``.
    """

    def __init__(
        self,
        protocol: Protocol,
        item: Any,
        data: Any = None,
        *,
        initial: Acceptable | None = None,
        prefix: str | None = None,
    ) -> None:
        ticked = {name: list(options) for name, options in (initial or {}).items()}
        super().__init__(data, initial=ticked, prefix=prefix)
        self._asked: list[tuple[int, Question, Row, str]] = []
        for number, question in enumerate(protocol.questions, start=1):
            choices = [(option.key, option.label) for option in question.options_for(item)]
            for row in question.rows_for(item):
                name = field_name(question.key, row.key)
                self._asked.append((number, question, row, name))
                self.fields[name] = forms.MultipleChoiceField(
                    label=f"{question.title}: {row.label}" if row.label else str(question.title),
                    choices=choices,
                    widget=forms.CheckboxSelectMultiple,
                    error_messages={"required": _("Accept at least one answer.")},
                )

    @property
    def cells(self) -> Iterator[Cell]:
        """Everything that is asked, in the order of the protocol's questions."""
        for number, question, row, name in self._asked:
            yield Cell(number, question, row, name, self[name])

    def acceptable(self) -> dict[str, list[str]]:
        """What a valid form accepts: per field name the options, in the order in which they were sent."""
        return {name: self.cleaned_data[name] for *_asked, name in self._asked}
