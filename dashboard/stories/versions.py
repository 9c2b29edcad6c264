"""The versions of a story that was revised, and what differs between two of them, word by word."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from annotation.models import Story, StoryRevision, Study

_WORDS = re.compile(r"\S+|\s+")


class Passage(NamedTuple):
    """Words that both texts have, or only one of them."""

    same: str
    taken_out: str
    put_in: str


def revisions_of(study: Study, story: Story) -> list[StoryRevision]:
    """Return the revisions that lead from the first version of a story to its newest, in order."""
    if not study.protocol.revisable:
        return []
    of_core = StoryRevision.objects.filter(before__study=study, before__core_id=story.core_id)
    known = list(of_core.select_related("before", "after", "by").order_by("pk"))
    versions = {story.pk}
    for one in reversed(known):
        if one.after_id in versions:
            versions.add(one.before_id)
    for one in known:
        if one.before_id in versions:
            versions.add(one.after_id)
    return [one for one in known if one.after_id in versions]


def changed_texts(study: Study, revision: StoryRevision) -> list[list[Passage]]:
    """Return the passages of each text that a revision changed."""
    old, new = revision.before.content, revision.after.content
    return [
        list(compared(old[name], new[name])) for name in study.protocol.revisable if old[name] != new[name]
    ]


def compared(old: str, new: str) -> Iterator[Passage]:
    """Yield the passages of two texts in order."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    matched = SequenceMatcher(None, before, after, autojunk=False)
    for kind, begin, end, begin_new, end_new in matched.get_opcodes():
        was, now = "".join(before[begin:end]), "".join(after[begin_new:end_new])
        yield Passage(was, "", "") if kind == "equal" else Passage("", was, now)
