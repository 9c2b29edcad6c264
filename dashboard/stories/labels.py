"""Labels of stories: the answers to each cell of a form, and what experts decided about them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation import rules
from annotation.models import Adjudication, Story, Study
from annotation.protocols.questions import FormCell
from annotation.protocols.tables import cells_as_read
from dashboard.stories.queries import ballots


@dataclass(frozen=True, slots=True)
class Label:
    """A cell of a story's form, with the counted answers to it and an expert's standing decision."""

    cell: FormCell
    given: Counter[str]
    is_settled: bool
    """True if the story has all its votes."""
    suggested: str = ""
    decision: Adjudication | None = None

    @property
    def by_votes(self) -> str | None:
        """The option of more than half of the votes, or None; None as long as the story lacks votes."""
        return rules.majority(self.given)[0] if self.given and self.is_settled else None

    @property
    def is_undecided(self) -> bool:
        """True if the votes are complete and none of the options has more than half of them."""
        return self.is_settled and bool(self.given) and self.by_votes is None

    @property
    def stands(self) -> str:
        """The option that a release has: that of the votes, else the expert's; or empty."""
        return self.by_votes or (self.decision.verdict if self.decision and self.is_settled else "")

    @property
    def answers(self) -> list[str]:
        """The answers in words, in the order of the form, each as often as it was given."""
        return [words for key, words in self.cell.labels.items() for _ in range(self.given[key])]

    @property
    def options(self) -> list[dict[str, Any]]:
        """The options of the form (``key``, ``label``) with the number of ``votes`` for each."""
        return [
            {"key": key, "label": words, "votes": self.given[key]} for key, words in self.cell.labels.items()
        ]


def labels_of(study: Study, stories: Sequence[Story]) -> dict[int, list[Label]]:
    """Return the labels of each of these stories, row by row, in two queries."""
    numbers = [story.pk for story in stories]
    cast = ballots(numbers)
    standing = Adjudication.objects.filter(story__in=numbers).standing().select_related("by")
    decided = {(one.story_id, one.field): one for one in standing}
    found: dict[int, list[Label]] = {}
    for story in stories:
        story.study = study
        given: dict[str, Counter[str]] = defaultdict(Counter)
        for answers in cast[story.pk].values():
            for choice, _ in answers:
                given[choice.field][choice.option] += 1
        item, protocol = story.item, study.protocol
        suggested = protocol.suggested(item)
        found[story.pk] = [
            Label(
                cell,
                given[cell.field],
                len(cast[story.pk]) >= study.votes_per_story,
                suggested.get(cell.field, ""),
                decided.get((story.pk, cell.field)),
            )
            for cell in cells_as_read(protocol, item)
        ]
    return found
