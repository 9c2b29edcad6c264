"""Read the right answers for the simulated annotators from the database; they never travel over HTTP."""

from collections.abc import Mapping

from annotation.models import CheckKey, Story, Study
from annotation.protocols.base import Protocol
from crowd.behaviour import Options
from crowd.truth import Truth, text_key
from qualification.models import Round

Table = Mapping[str, Mapping[str, str]]
"""Per story id, per form field: the right option (the shape of ``sample_study/truth.json``)."""


def truth_of(study: Study, *, table: Table, valid: float, seed: int) -> Truth:
    """Return the truth about a study's stories: from ``table`` where they are in it, otherwise invented.

    For stories of the active qualification rounds and for hidden checks, everything that the answer key
    accepts is right, so that a simulated expert passes.
    """
    protocol = study.protocol
    known: dict[str, Options] = {
        key_of(protocol, story): {name: (option,) for name, option in table[story.story_id].items()}
        for story in Story.objects.filter(study=study, story_id__in=table).iterator()
    }
    known |= _of_the_rounds(study, table)
    keys = CheckKey.objects.filter(story__study=study).exclude(state=CheckKey.State.REPLACED)
    keys = keys.select_related("story").prefetch_related("options")
    known |= {key_of(protocol, key.story): key.accepted for key in keys}
    against = {
        question.key: frozenset(option.key for option in question.options if option.counts_against)
        for question in protocol.questions
    }
    return Truth(known=known, against=against, valid=valid, seed=seed)


def key_of(protocol: Protocol, story: Story) -> str:
    """Return the key (:func:`crowd.truth.text_key`) of the texts that the pages show of a story."""
    shown = {name for question in protocol.headings for name in question.shows}
    return text_key(part.text for part in protocol.parts(protocol.parse(story.content)) if part.name in shown)


def _of_the_rounds(study: Study, table: Table) -> dict[str, Options]:
    found: dict[str, Options] = {}
    for round in Round.objects.active_in(study):
        key = round.keys.latest("version")
        for entry in round.round_stories.select_related("story__study"):
            best = table.get(entry.story.story_id, {})
            found[key_of(entry.story.protocol, entry.story)] = {
                name: sorted(accepted, key=lambda option: option != best.get(name))
                for name, accepted in key.accepted[entry.pk].items()
            }
    return found
