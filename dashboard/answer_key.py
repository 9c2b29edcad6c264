"""The forms in which a round's key is fixed: one for each story, the note, and who takes the round then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.protocols.base import Option, Part, field_name
from dashboard.acceptable import AcceptableForm, Cell
from qualification.experts import Chosen, agreement_over, chosen_in, counts
from qualification.models import AcceptableOption, AnswerKey, KeyReason, Round, RoundStory
from qualification.rules import LONGEST_REASON, agreement, needs_reason

REASON = "reason-"
"""Before the name of a form field: the name of the field in which the reason for its options is given."""


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """One question about one story: who chose what, the options to accept, and the reason."""

    cell: Cell
    options: list[tuple[Option, list[str]]]
    """Every option that is offered, with the names of the experts who chose it."""
    experts: int
    most: int
    """How many chose what most chose."""
    share: float | None
    """Of pairs of experts, how many agree."""
    reason: forms.BoundField

    @property
    def differs(self) -> bool:
        """Whether experts chose different options."""
        return sum(bool(names) for _option, names in self.options) > 1


class StoryKeyForm(AcceptableForm):
    """What is accepted about one story, with a reason where one is needed."""

    def __init__(self, entry: RoundStory, chosen: Chosen, data: Any = None, **kept: Any) -> None:
        protocol, item = entry.story.study.protocol, entry.story.item
        reasons: Mapping[str, str] = kept.pop("reasons", {})
        super().__init__(protocol, item, data, prefix=f"story-{entry.position}", **kept)
        self.entry, self._item, self._protocol = entry, item, protocol
        self._chosen = {name: names for (at, name), names in chosen.items() if at == entry.position}
        for name in list(self.fields):
            self.fields[REASON + name] = forms.CharField(
                label=_("Why"),
                required=False,
                max_length=LONGEST_REASON,
                initial=reasons.get(name, ""),
                widget=forms.TextInput(attrs={"class": "text"}),
                help_text=self._when(name),
            )

    @property
    def parts(self) -> tuple[Part, ...]:
        """The story as people see it."""
        return self._protocol.parts(self._item)

    @property
    def compared(self) -> Iterator[ComparedCell]:
        """Everything that is asked about the story."""
        for cell in self.cells:
            names = self._chosen.get(cell.name, {})
            chosen = counts(names)
            yield ComparedCell(
                cell=cell,
                options=[
                    (option, names.get(option.key, [])) for option in cell.question.options_for(self._item)
                ],
                experts=chosen.total(),
                most=max(chosen.values(), default=0),
                share=agreement(chosen),
                reason=self[REASON + cell.name],
            )

    def clean(self) -> dict[str, Any]:
        """A reason stands wherever one is needed."""
        given = super().clean() or self.cleaned_data
        for cell in self.cells:
            reason = given.get(REASON + cell.name, "").strip()
            accepted = given.get(cell.name)
            if accepted and not reason and needs_reason(accepted, counts(self._chosen.get(cell.name, {}))):
                self.add_error(REASON + cell.name, _("A reason is missing here."))
        return given

    def reasons(self) -> dict[str, str]:
        """The reasons in a valid form, by the names of the protocol's fields."""
        said = {cell.name: self.cleaned_data[REASON + cell.name].strip() for cell in self.cells}
        return {name: reason for name, reason in said.items() if reason}

    def _when(self, name: str) -> str:
        chosen = self._chosen.get(name, {})
        if not chosen:
            return _("Kept with the key.")
        if len(chosen) > 1:
            return _("Say why: the experts differ.")
        return _("Say why if you accept anything but just what they chose.")


class NoteForm(forms.Form):
    """What is said of the key as a whole, and which version it was made from."""

    note = forms.CharField(
        label=gettext_lazy("Note about this version"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"class": "text", "rows": 3}),
        help_text=gettext_lazy("Who met, what it changes and why. Kept with the key."),
    )
    after = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    beside = forms.ChoiceField(
        label=gettext_lazy("Who takes this round"),
        choices=(
            ("alone", gettext_lazy("Every newcomer from now on; the active rounds are retired")),
            ("beside", gettext_lazy("Newcomers in turn, beside the active rounds")),
        ),
        initial="alone",
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, asks_who: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not asks_who:
            del self.fields["beside"]


class KeyForms:
    """Everything on the page of a round's key, filled with what is sensible or with what was sent.

    What ``is_fixed`` is there to look at.
    """

    def __init__(self, round: Round, data: Any = None, *, is_fixed: bool = False) -> None:
        self.round, self.is_fixed = round, is_fixed
        self.chosen = chosen_in(round)
        newest = round.keys.order_by("version").last()
        entries = list(round.round_stories.select_related("story__study").order_by("position"))
        speaking = _speaking(round, entries, newest)
        ticked = _ticked(entries, self.chosen, speaking)
        reasons = _reasons(entries, speaking)
        self.stories = [
            StoryKeyForm(
                entry,
                self.chosen,
                data,
                initial=ticked[entry.position],
                reasons=reasons.get(entry.position, {}),
            )
            for entry in entries
        ]
        others = Round.objects.active_in(round.study).exclude(pk=round.pk)
        self.note = NoteForm(
            data,
            initial={"after": newest.version if newest else 0},
            asks_who=round.state == Round.State.PREPARING and others.exists(),
        )
        if is_fixed:
            for field in (field for form in self.forms for field in form.fields.values()):
                field.disabled = True

    @property
    def agreement(self) -> Any:
        """How far the experts agree over the whole round."""
        return agreement_over(self.chosen.values())

    @property
    def forms(self) -> list[forms.Form]:
        """All of them, in the order of the page."""
        return [*self.stories, self.note]

    def are_valid(self) -> bool:
        """Whether all of them are; every one is looked at, so that all mistakes are named at once."""
        valid = [form.is_valid() for form in self.forms]
        return all(valid)

    @property
    def problems(self) -> list[dict[str, str]]:
        """Everything that is wrong, with the id of the field where it is mended."""
        found = [{"id": "", "where": "", "text": str(text)} for text in self.note.non_field_errors()]
        for form in self.stories:
            for compared in form.compared:
                where = _("Story %(at)s, %(question)s") % {
                    "at": form.entry.position,
                    "question": form.fields[compared.cell.name].label,
                }
                for field in (compared.cell.field, compared.reason):
                    found += [
                        {"id": field.auto_id, "where": where, "text": str(text)} for text in field.errors
                    ]
        for field in self.note.visible_fields():
            found += [
                {"id": field.auto_id, "where": str(field.label), "text": str(text)} for text in field.errors
            ]
        return found

    def said(self) -> dict[str, Any]:
        """What valid forms say, as arguments of ``set_answer_key``."""
        note = self.note.cleaned_data
        return {
            "acceptable": {form.entry.story.story_id: form.acceptable() for form in self.stories},
            "reasons": {form.entry.story.story_id: form.reasons() for form in self.stories},
            "note": note["note"].replace("\r\n", "\n").strip(),
            "after": note["after"],
            "beside": note.get("beside") == "beside",
        }


def _speaking(round: Round, entries: list[RoundStory], newest: AnswerKey | None) -> dict[int, AnswerKey]:
    """Per story the key to begin with: the round's newest; else, where no expert was asked about the round
    itself, the newest of the study that speaks of the story.
    """
    if newest:
        return {entry.story_id: newest for entry in entries}
    if round.laid_open_at:
        return {}
    keys = AnswerKey.objects.filter(round__round_stories__story__in=[entry.story_id for entry in entries])
    found = keys.order_by("pk").annotate(speaks_of=F("round__round_stories__story"))
    theirs = {entry.story_id for entry in entries}
    return {key.speaks_of: key for key in found if key.speaks_of in theirs}


def _ticked(
    entries: list[RoundStory], chosen: Chosen, speaking: Mapping[int, AnswerKey]
) -> dict[int, dict[str, list[str]]]:
    """Per position what is ticked at first: what the key to begin with accepts, else what experts chose."""
    ticked: dict[int, dict[str, list[str]]] = {entry.position: {} for entry in entries}
    spoken = {entry.position for entry in entries if entry.story_id in speaking}
    for (position, name), options in chosen.items():
        if position not in spoken:
            ticked[position][name] = list(options)
    positions = {entry.story_id: entry.position for entry in entries}
    accepted = AcceptableOption.objects.filter(
        key__in=set(speaking.values()), round_story__story__in=positions
    )
    for option in accepted.select_related("round_story").order_by("pk"):
        story = option.round_story.story_id
        if speaking[story].pk == option.key_id:
            name = field_name(option.question, option.row)
            ticked[positions[story]].setdefault(name, []).append(option.option)
    return ticked


def _reasons(entries: list[RoundStory], speaking: Mapping[int, AnswerKey]) -> dict[int, dict[str, str]]:
    """Per position and form field: why the key to begin with accepts what it does."""
    positions = {entry.story_id: entry.position for entry in entries}
    reasons: dict[int, dict[str, str]] = {}
    found = KeyReason.objects.filter(key__in=set(speaking.values()), round_story__story__in=positions)
    for said in found.select_related("round_story"):
        story = said.round_story.story_id
        if speaking[story].pk == said.key_id:
            reasons.setdefault(positions[story], {})[field_name(said.question, said.row)] = said.reason
    return reasons
