"""The versions of a story that was revised, and the passage in which two of them differ."""

import re
from typing import NamedTuple

from django.db.models import Q

from annotation.models import Story, StoryRevision, Study

_WORDS = re.compile(r"\s+|\S+")
_AROUND = 40
"""Words, and spaces between them, that are shown before and after what differs."""


class Passage(NamedTuple):
    """What a revision took out and put in, from the first to the last different word, in its surroundings."""

    before: str
    taken_out: str
    put_in: str
    after: str


def revisions_of(study: Study, story: Story) -> list[tuple[StoryRevision, list[Passage]]]:
    """Return the revisions that made and that replaced this version, with a passage for each changed text."""
    if not study.protocol.revisable:
        return []
    found = StoryRevision.objects.filter(Q(after=story) | Q(before=story)).order_by("pk")
    return [(one, _changes(one)) for one in found.select_related("before", "after", "by")]


def _changes(revision: StoryRevision) -> list[Passage]:
    old, new = revision.before.content, revision.after.content
    return [
        changed_passage(text, new[name])
        for name, text in old.items()
        if isinstance(text, str) and text != new.get(name)
    ]


def changed_passage(old: str, new: str) -> Passage:
    """Return the passage in which two texts differ. Takes a time that grows like the texts."""
    was, now = _WORDS.findall(old), _WORDS.findall(new)
    shorter = min(len(was), len(now))
    begin = next((place for place in range(shorter) if was[place] != now[place]), shorter)
    end = next((n for n in range(shorter - begin) if was[-1 - n] != now[-1 - n]), shorter - begin)
    before, after = was[:begin], was[len(was) - end :]
    return Passage(
        ("…" if begin > _AROUND else "") + "".join(before[-_AROUND:]),
        "".join(was[begin : len(was) - end]),
        "".join(now[begin : len(now) - end]),
        "".join(after[:_AROUND]) + ("…" if end > _AROUND else ""),
    )
