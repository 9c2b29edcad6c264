"""Forms for the acceptable answers to a protocol's questions about one story."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from annotation.models import Story
from annotation.protocols.questions import FormCell

Acceptable = Mapping[str, Collection[str]]
"""The keys of the acceptable options, by form field of the protocol (``q1``, or ``question.row``)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One question (or row of it) about the story, with the field for its acceptable options."""

    asked: FormCell
    field: forms.BoundField

    @property
    def accepts_everything(self) -> bool:
        """Return True if every option is ticked, so that the question tests nothing."""
        return len(set(self.field.value() or ())) == len(self.asked.labels)


class AcceptableForm(forms.Form):
    """The acceptable options of every question about one story, at least one each.

    ``initial`` holds the options ticked at first, by the protocol's field names. Several forms
    share a page with a ``prefix`` each. ``dashboard/_acceptable_options.html`` renders one :class:`Cell`.
    """

    def __init__(
        self, story: Story, data: Any = None, *, initial: Acceptable | None = None, prefix: str | None = None
    ) -> None:
        ticked = {name: list(options) for name, options in (initial or {}).items()}
        super().__init__(data, initial=ticked, prefix=prefix)
        self._asked = story.cells
        for cell in self._asked:
            self.fields[cell.field] = forms.MultipleChoiceField(
                label=cell.title,
                choices=list(cell.labels.items()),
                widget=forms.CheckboxSelectMultiple,
                error_messages={"required": gettext_lazy("Accept at least one answer.")},
            )

    @property
    def cells(self) -> Iterator[Cell]:
        """Yield the cells in the order of the protocol's questions."""
        for cell in self._asked:
            yield Cell(cell, self[cell.field])

    def acceptable(self) -> dict[str, list[str]]:
        """Return the valid form's options by field name, in the order in which they were sent."""
        return {cell.field: self.cleaned_data[cell.field] for cell in self._asked}


def closed_notice() -> str:
    """Tell experts who still have to answer blind why keys and figures are hidden from them."""
    return _(
        "You still have to answer some of these stories as an expert. Their keys, answers and rates are "
        "hidden until you have handed in."
    )
