"""Forms about quality: rules and keys of hidden checks, and samples for review."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotation.actions import ProposedKey
from annotation.actions.reviews import MOST_PEOPLE, MOST_PER_PERSON
from annotation.hidden_checks import FEWEST_BETWEEN, MOST_BETWEEN, CheckRules
from annotation.models import CheckKey, ReviewSample, Study
from dashboard.parameters import number_in
from dashboard.qualification.acceptable_options import Acceptable, AcceptableForm, Cell
from dashboard.quality.hidden_checks import ShownCheck, accepted_by, checks_of
from dashboard.settings.forms import StudyForm

MOST_ROWS = 25
"""Checks on one page."""
MOST_COLUMNS = 5
"""Questions in columns; with more, they are stacked."""
Among = ReviewSample.Among


class SampleForm(StudyForm):
    """The answers to draw: which, of how many people, and how many of each."""

    kind = forms.ChoiceField(label=_("Which answers"), choices=ReviewSample.Kind)
    among = forms.ChoiceField(
        label=_("Whose"),
        choices=[(one.value, one.label) for one in (Among.EVERYBODY, Among.FLAGGED)],
        required=False,
    )
    people = forms.IntegerField(
        label=_("Maximum number of participants drawn"), min_value=1, max_value=MOST_PEOPLE, initial=20
    )
    per_person = forms.IntegerField(
        label=_("Answers of each at most"), min_value=1, max_value=MOST_PER_PERSON, initial=5
    )

    def clean_among(self) -> ReviewSample.Among:
        return Among(self.cleaned_data["among"] or Among.EVERYBODY)


class CheckRulesForm(StudyForm):
    """How often people meet a hidden check, and the failed share that has consequences."""

    every = forms.IntegerField(
        label=_("One check per so many stories of a participant"),
        min_value=0,
        max_value=MOST_BETWEEN,
        help_text=format_lazy(
            _("0: no checks. 20 is usual. At least {least}, so that checks stay hidden."),
            least=FEWEST_BETWEEN,
        ),
    )
    minimum = forms.IntegerField(
        label=_("Consequences only from so many answered checks"),
        min_value=1,
        max_value=MOST_BETWEEN,
        help_text=_("One failed check is no pattern; 3 is usual."),
    )
    warn_percent = forms.IntegerField(
        label=_("Warn at a share of failed checks of (percent)"),
        min_value=1,
        max_value=100,
        required=False,
        help_text=_(
            "The participant is told once, beside their next story, which questions to reread. "
            "Empty: nobody is warned."
        ),
    )
    suspend_percent = forms.IntegerField(
        label=_("Suspend at a share of failed checks of (percent)"),
        min_value=1,
        max_value=100,
        required=False,
        help_text=_(
            "The participant gets no more stories and reads why. You can reinstate them. "
            "Empty: nobody is suspended."
        ),
    )

    @classmethod
    def of(cls, study: Study, data: Any = None) -> CheckRulesForm:
        return cls(data, initial=asdict(study.check_rules))

    def rules(self) -> CheckRules:
        return CheckRules(**self.cleaned_data)


class CheckRow(AcceptableForm):
    """The accepted answers of one hidden check. An unchanged row is not validated."""

    def __init__(self, check: ShownCheck, accepted: Acceptable, data: Any = None) -> None:
        self.check, self.parts = check, check.story.parts
        super().__init__(check.story, data, initial=accepted, prefix=f"check-{check.story.pk}")
        self.empty_permitted, self.use_required_attribute = True, False
        self.version = check.key.version if check.key else 0
        self.after_name = self.add_prefix("after")
        self.refused = ""

    @property
    def columns(self) -> Iterator[list[Cell]]:
        """Yield the cells of each question."""
        for _number, cells in groupby(self.cells, key=lambda cell: cell.asked.number):
            yield list(cells)

    def proposed(self) -> ProposedKey:
        """Return the proposed key of a valid, changed row."""
        after = number_in(self.data.get(self.after_name)) or 0
        return ProposedKey(self.check.story, self.acceptable(), after)


class CheckTable:
    """The hidden checks whose accepted answers can be set, those without any first.

    These are the checks that nobody has answered; of posted data, those that it names. Checks whose texts are
    ``closed`` to the reader are left out.
    """

    def __init__(self, study: Study, *, closed: Collection[str], data: Any = None) -> None:
        shown = [check for check in checks_of(study, **_asked_for(data)) if _can_be_set(check, data)]
        open_ones = [check for check in shown if check.story.text_hash not in closed]
        open_ones.sort(key=lambda check: check.key is not None)
        self.closed, self.total = len(shown) - len(open_ones), len(open_ones)
        chosen = open_ones[:MOST_ROWS]
        accepted = accepted_by(*(check.key for check in chosen if check.key))
        self.rows: Sequence[CheckRow] = [
            CheckRow(check, accepted[check.key.pk] if check.key else {}, data) for check in chosen
        ]
        self.in_columns = len(study.protocol.questions) <= MOST_COLUMNS

    def is_valid(self) -> bool:
        """Validate every row, so that all mistakes are shown at once."""
        valid = [row.is_valid() for row in self.rows]
        return all(valid)

    def proposed(self) -> list[ProposedKey]:
        """Return the proposed keys of the changed rows."""
        return [row.proposed() for row in self.rows if row.has_changed()]

    def refuse(self, problems: dict[int, str]) -> None:
        """Record refusals by story."""
        for row in self.rows:
            row.refused = problems.get(row.check.story.pk, "")

    @property
    def problems(self) -> list[dict[str, str]]:
        """Return every problem with the id of its field."""
        found = []
        for row in self.rows:
            where = row.check.story.story_id
            if row.refused:
                found.append({"id": row.prefix or "", "where": where, "text": row.refused})
            found += [
                {
                    "id": cell.field.auto_id,
                    "where": f"{where}, {cell.field.label}",
                    "text": str(cell.field.errors[0]),
                }
                for cell in row.cells
                if cell.field.errors
            ]
        return found


def _asked_for(data: Any) -> dict[str, Any]:
    if data is None:
        return {}
    asked = [number for text in data.getlist("check") if (number := number_in(text))]
    return {"pk__in": asked[:MOST_ROWS]}


def _can_be_set(check: ShownCheck, data: Any) -> bool:
    """Return whether a check can be set. Posted ones always pass: the action refuses late changes aloud."""
    if data is not None:
        return True
    return check.key is None or (check.key.state == CheckKey.State.IN_USE and not check.answered)
