"""Read stories from rows in all formats that the validity protocol accepts.

The fields of each row say what it is, so a file may mix them:

* ``story_id``: a whole story (*story-data*), with ``question``, ``action_unaware`` and ``action_aware``,
  or with ``questions`` as in a release, where the one whose id ends in ``_action`` holds them;
* ``id``: one of the two rows that the generator writes for a story, ``<id>_aware`` and ``<id>_action``;
* ``output``: a raw completion, holding three stories.

docs/importing.md has the fields. White space around them is removed, and nothing else is changed.
"""

from collections.abc import Iterable, Iterator

from annotation.importing.rows import Problem, SourceRow, StoryRow, quote
from annotation.protocols.fields import Fields, Reported, read_row
from annotation.protocols.validity.generated import Pairs, read_completion
from annotation.protocols.validity.stories import FIELDS, read_story


def read(rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
    """Yield the rows' stories, and a :class:`Problem` for everything that is wrong with a row.

    Whether a pair is complete and its rows agree is known only after its story was yielded: when any problem
    comes, the whole file must be refused.
    """
    reported: Reported = set()
    pairs = Pairs(reported)
    for row in rows:
        if "story_id" in row.data:
            yield from read_row(row, reported, FIELDS, read_story)
        elif "id" in row.data:
            yield from pairs.read(row)
        elif "output" in row.data:
            yield from read_completion(row, reported)
        else:
            yield from _unknown(row, reported)
    yield from pairs.unmatched()


def _unknown(row: SourceRow, reported: Reported) -> Iterator[Problem]:
    fields = Fields(row, reported, frozenset(row.data))
    names = quote(", ".join(row.data), 200) if row.data else "none"
    message = f"The row is of no known kind; its fields are {names}."
    refuse = fields.refuse_once if row.header_line else fields.refuse
    remedy = "A story has “story_id”, a pair's row “id” (<id>_aware, <id>_action), a completion “output”."
    refuse("", message, remedy)
    yield from fields.problems
