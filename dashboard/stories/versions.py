"""The versions of a story that was revised, and the passages in which they differ."""

import re
from collections.abc import Sequence
from itertools import takewhile

from annotation.models import Story, StoryRevision, Study

Passage = tuple[str, str, str, str]
"""Four texts: the common beginning, what only the old text has, what only the new one has, the common end."""


def revisions_of(study: Study, story: Story) -> list[tuple[StoryRevision, list[Passage]]]:
    """Return the revisions from the first to the newest version, with a passage of each changed text."""
    if not study.protocol.revisable:
        return []
    of_core = StoryRevision.objects.filter(before__study=study, before__core_id=story.core_id)
    found, versions = list(of_core.order_by("at", "pk").select_related("before", "after", "by")), {story.pk}
    for one in (*reversed(found), *found):  # first to the earlier versions, then to the later ones
        if {one.before_id, one.after_id} & versions:
            versions |= {one.before_id, one.after_id}
    return [
        (one, [changed_passage(*texts) for texts in one.changed_texts().values()])
        for one in found
        if one.before_id in versions
    ]


def changed_passage(old: str, new: str) -> Passage:
    """Find everything from the first to the last different word. Takes a time that grows like the texts."""
    was, now = (re.findall(r"\s+|\S+", text) for text in (old, new))
    begin = _alike(was, now)
    end = _alike(was[begin:][::-1], now[begin:][::-1])
    old_end, new_end = len(was) - end, len(now) - end
    parts = (was[:begin], was[begin:old_end], now[begin:new_end], was[old_end:])
    before, taken_out, put_in, after = map("".join, parts)
    return before, taken_out, put_in, after


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of words with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
