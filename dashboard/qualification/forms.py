"""Forms of acceptable answers, and of a qualification round: its stories, its key, the note on a version."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Max
from django.utils.translation import gettext as _, gettext_lazy

from annotation.models import Story, Study
from annotation.protocols.base import Part
from annotation.protocols.multiple_choice import QUESTION, right_key
from annotation.protocols.questions import FormCell
from dashboard.settings.forms import choose, number, one_of, prose
from qualification.experts import Chosen, agreement_over, chosen_in, counts
from qualification.models import AnswerKey, Round, RoundStory
from qualification.rules import LONGEST_WHY, needs_reason

OFFERED = 200
"""Test stories to choose from, the newest."""
SUMMARY = 160
"""Characters of a story's text beside its id."""
MUST = "must-pass"
REASON = "reason-"
"""Prefix of the field with the reason for another field's options."""
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


class RoundForm(forms.Form):
    """The stories of a new round, and how often it may be tried."""

    title = forms.CharField(
        label=gettext_lazy("Title"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("For researchers only."),
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Used as"),
        choices=Round.Kind.choices,
        initial=Round.Kind.TEST,
        help_text=gettext_lazy(
            "Practice comes before the test, shows the right answers and your reasons after each story, and "
            "grades nothing. It can’t share stories with the test. Its time isn’t paid extra: include it in "
            "the minutes you state."
        ),
    )
    attempts_allowed = number(
        gettext_lazy("Attempts of one participant"),
        (1, 20),
        gettext_lazy("Counted over all rounds of the study."),
        initial=1,
    )
    pays_on_fail = forms.BooleanField(
        label=gettext_lazy("Pay for the time of the test even if it is failed"), required=False, initial=True
    )
    stories = forms.MultipleChoiceField(
        label=gettext_lazy("Stories"),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy(
            "The published procedure uses five, of varied quality. Participants read them in this order."
        ),
        error_messages={"required": gettext_lazy("Choose at least one story.")},
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = Story.objects.filter(
            study=study, role__in=(Story.Role.QUALIFICATION, Story.Role.QUIZ)
        ).select_related("study")
        newest = list(found.order_by("-story_import", "-source_line", "-pk")[:OFFERED])
        self.has_stories = bool(newest)
        choices = []
        for story in reversed(newest):
            text = " ".join(part.text for part in story.protocol.summary(story.item))
            shown = f"{story.story_id} · {text[:SUMMARY]}{'…' if len(text) > SUMMARY else ''}"
            choices.append((story.story_id, shown))
        choose(self, "stories", choices)


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """One question about one story: the experts' choices, the acceptable options, and the reason."""

    cell: Cell
    choices: dict[str, str]
    """The label that each expert of the round chose; "" for one who did not answer this."""
    reason: forms.BoundField

    @property
    def differs(self) -> bool:
        return len(set(filter(None, self.choices.values()))) > 1

    @property
    def is_settled(self) -> bool:
        """Return True if all experts chose alike and nothing was said or found wrong about it."""
        alone = not any(self.choices.values()) or self.differs
        return not (alone or self.reason.value() or self.cell.field.errors or self.reason.errors)


class StoryKeyForm(AcceptableForm):
    """The acceptable options of one story, with a reason where one is needed."""

    def __init__(
        self,
        entry: RoundStory,
        chosen: Chosen,
        data: Any = None,
        *,
        starting: tuple[AnswerKey, RoundStory] | None,
    ) -> None:
        theirs = {name: names for (at, name), names in chosen.items() if at == entry.position}
        ticked: Acceptable = {name: list(options) for name, options in theirs.items()}
        if entry.round.is_quiz and not chosen:
            ticked = {QUESTION: [right_key(entry.story.content)]}
        reasons, must = {}, False
        if starting:
            key, at = starting
            ticked, reasons = key.accepted[at.pk], key.why.get(at.pk, {})
            must = at.position in key.must_pass
        super().__init__(entry.story, data, prefix=f"story-{entry.position}", initial=ticked)
        self.entry, self._chosen = entry, theirs
        everybody = {name for cell in chosen.values() for names in cell.values() for name in names}
        self.experts = sorted(everybody)
        for name in list(self.fields):
            self.fields[REASON + name] = prose(
                _("Why"), self._when(name), rows=2, max_length=LONGEST_WHY, initial=reasons.get(name, "")
            )

        self.fields[MUST] = forms.BooleanField(
            label=_("To pass, every answer here must be acceptable"), required=False, initial=must
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.entry.story.parts

    @property
    def must(self) -> forms.BoundField:
        return self[MUST]

    @property
    def compared(self) -> Iterator[ComparedCell]:
        for cell in self.cells:
            experts = self._chosen.get(cell.asked.field, {})
            chosen = {name: cell.asked.labels[option] for option, names in experts.items() for name in names}
            choices = {name: chosen.get(name, "") for name in self.experts}
            yield ComparedCell(cell, choices, self[REASON + cell.asked.field])

    @property
    def tables(self) -> dict[str, list[ComparedCell]]:
        """Return the questions to decide, and those that are settled."""
        cells = list(self.compared)
        settled = [one for one in cells if one.is_settled]
        return {"open": [one for one in cells if one not in settled], "settled": settled}

    def clean(self) -> dict[str, Any]:
        """Require a reason wherever the rules ask for one."""
        given = super().clean() or self.cleaned_data
        for name in [cell.asked.field for cell in self.cells]:
            reason, accepted = given.get(REASON + name, "").strip(), given.get(name)
            if accepted and not reason and needs_reason(accepted, counts(self._chosen.get(name, {}))):
                self.add_error(REASON + name, _("A reason is missing here."))
        return given

    def reasons(self) -> dict[str, str]:
        """Return the valid form's reasons by field name."""
        names = [cell.asked.field for cell in self.cells]
        return {name: said for name in names if (said := " ".join(self.cleaned_data[REASON + name].split()))}

    def _when(self, name: str) -> str:
        chosen = self._chosen.get(name, {})
        if not chosen or (self.entry.round.is_practice and len(chosen) < 2):
            is_told = self.entry.round.is_quiz or self.entry.round.is_practice
            return _("Shown after participants answer.") if is_told else _("Kept with the key.")
        if len(chosen) > 1:
            return _("Say why: the experts differ.")
        return _("Say why, unless you accept exactly what they chose.")


class NoteForm(forms.Form):
    """The note on a version of the key, the version it replaces, and who takes the round."""

    note = prose(
        gettext_lazy("Note about this version"),
        gettext_lazy("Who decided, what changes, and why. Kept with the key."),
        rows=3,
        max_length=2000,
    )
    enough = forms.IntegerField(
        label=gettext_lazy("Acceptable answers needed to pass"),
        required=False,
        min_value=1,
        help_text=gettext_lazy(
            "Shown to participants before the test. Empty: all answers, as in the published procedure."
        ),
    )
    after = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    beside = one_of(
        gettext_lazy("Who takes this round"),
        (
            ("alone", gettext_lazy("All newcomers from now on; the active rounds are retired")),
            ("beside", gettext_lazy("Newcomers in turn with the active rounds")),
        ),
        initial="alone",
    )

    def __init__(self, *args: Any, asks_who: bool, grades: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not asks_who:
            del self.fields["beside"]
        if not grades:
            del self.fields["enough"]


class KeyForms:
    """All forms of a round's key, filled with posted data or sensible defaults; read-only if ``is_fixed``."""

    def __init__(self, round: Round, data: Any = None, *, is_fixed: bool = False) -> None:
        self.round, self.is_fixed = round, is_fixed
        self.chosen = chosen_in(round)
        newest = round.keys.order_by("version").last()
        self.notes = newest.note if newest else ""
        entries = list(round.round_stories.select_related("story__study", "round").order_by("position"))
        starting = _starting_keys(round, entries, newest)
        marks = {key.enough for key, _entry in starting.values()}
        self.stories = [
            StoryKeyForm(entry, self.chosen, data, starting=starting.get(entry.story_id)) for entry in entries
        ]
        others = Round.objects.active_in(round.study).filter(kind=round.kind).exclude(pk=round.pk)
        self.note = NoteForm(
            data,
            initial={
                "after": newest.version if newest else 0,
                "enough": marks.pop() if len(marks) == 1 else None,
            },
            asks_who=not round.is_practice and round.state == Round.State.PREPARING and others.exists(),
            grades=not round.is_practice,
        )
        if is_fixed:
            for field in (field for form in self.forms for field in form.fields.values()):
                field.disabled = True

    @property
    def agreement(self) -> Any:
        """Return the experts' agreement over the whole round."""
        return agreement_over(self.chosen.values())

    @property
    def forms(self) -> list[forms.Form]:
        return [*self.stories, self.note]

    def are_valid(self) -> bool:
        """Validate every form, so that all mistakes are shown at once."""
        valid = [form.is_valid() for form in self.forms]
        return all(valid)

    @property
    def problems(self) -> list[dict[str, str]]:
        """Return every problem with the id of its field."""
        places = [
            (field, f"{form.entry.heading}, {title}")
            for form in self.stories
            for compared in form.compared
            for title in [compared.cell.asked.title]
            for field in (compared.cell.field, compared.reason)
        ]
        places += [(field, str(field.label)) for field in self.note.visible_fields()]
        found = [{"id": "", "where": "", "text": str(text)} for text in self.note.non_field_errors()]
        return found + [
            {"id": field.auto_id, "where": where, "text": str(text)}
            for field, where in places
            for text in field.errors
        ]

    def arguments(self) -> dict[str, Any]:
        """Return the valid forms as arguments of ``set_answer_key``."""
        note = self.note.cleaned_data
        return {
            "acceptable": {form.entry.story.story_id: form.acceptable() for form in self.stories},
            "reasons": {form.entry.story.story_id: form.reasons() for form in self.stories},
            "note": note["note"].replace("\r\n", "\n").strip(),
            "after": note["after"],
            "enough": note.get("enough"),
            "must_pass": [form.entry.story.story_id for form in self.stories if form.cleaned_data[MUST]],
            "beside": note.get("beside") == "beside",
        }


def _starting_keys(
    round: Round, entries: list[RoundStory], newest: AnswerKey | None
) -> dict[int, tuple[AnswerKey, RoundStory]]:
    """Return, by story, the key to start from and the story in that key's round.

    That is the round's newest key. If there is none and no expert was asked about the round, it is the
    newest key of any round with the story.
    """
    if newest:
        return {entry.story_id: (newest, entry) for entry in entries}
    if round.revealed_at:
        return {}
    uses = RoundStory.objects.filter(story__in=[entry.story_id for entry in entries])
    with_keys = uses.annotate(newest=Max("round__keys")).exclude(newest=None).order_by("newest")
    keys = AnswerKey.objects.in_bulk([entry.newest for entry in with_keys])
    return {entry.story_id: (keys[entry.newest], entry) for entry in with_keys}
