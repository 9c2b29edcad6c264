"""Ways to break a promise about votes of visits from a platform."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import sql

_IN_A_SESSION = """
    WITH made AS (INSERT INTO annotation_worksession (enrollment_id, state, story_limit, stories_submitted,
            counts_unconfirmed, identity_claimed, framed, opened_at, expires_at, settled_at)
        SELECT enrollment_id, 'doubted', 1, 1, false, true, true, now(), now(), now()
        FROM annotation_assignment WHERE story_id = %(full)s AND state = 'submitted' LIMIT 1
        RETURNING id, enrollment_id)
    UPDATE annotation_assignment a SET session_id = made.id FROM made
    WHERE a.enrollment_id = made.enrollment_id AND a.story_id = %(full)s
"""


def counted_though_doubted(world: World) -> None:
    sql(_IN_A_SESSION, full=world.full.pk)


SESSION_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (counted_though_doubted, "votes_count_as_their_visit_allows", {"session_is_of_a_visit"})
]
