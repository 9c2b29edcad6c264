"""Invariants 2, 3, 6 and 7 as far as votes carry them: whole, credited, and facts that stay."""

from __future__ import annotations

import json
from collections.abc import Iterator

from django.db import connection

from annotation.models import Story, Study
from annotation.protocols import UnknownProtocol, get_protocol
from annotation.protocols.base import IncompleteForm, Protocol
from dashboard.integrity.base import CHUNK, SHOWN, Check, Offenders, by_sql, by_walking, stream

_NEWEST_VOTE = """
    SELECT DISTINCT ON (assignment_id) assignment_id, id, surplus_reason
    FROM annotation_vote ORDER BY assignment_id, revision DESC
"""

_ANSWERS_OF_VOTES = """
    SELECT v.id, st.protocol_name, st.protocol_version, s.content,
           count(an.id),
           jsonb_object_agg(an.question || CASE WHEN an.row = '' THEN '' ELSE '.' || an.row END, an.option)
               FILTER (WHERE an.id IS NOT NULL)
    FROM annotation_vote v
    JOIN annotation_assignment a ON a.id = v.assignment_id
    JOIN annotation_story s ON s.id = a.story_id
    JOIN annotation_study st ON st.id = s.study_id
    LEFT JOIN annotation_answer an ON an.vote_id = v.id
    WHERE %(study)s::bigint IS NULL OR s.study_id = %(study)s
    GROUP BY v.id, s.id, st.id ORDER BY v.id
"""

_KINDS_OF_ANSWERS = """
    SELECT st.protocol_name, an.question, an.row, an.option, an.counts_against
    FROM annotation_answer an
    JOIN annotation_vote v ON v.id = an.vote_id
    JOIN annotation_assignment a ON a.id = v.assignment_id
    JOIN annotation_story s ON s.id = a.story_id
    JOIN annotation_study st ON st.id = s.study_id
    WHERE %(study)s::bigint IS NULL OR s.study_id = %(study)s
    GROUP BY 1, 2, 3, 4, 5
"""

_ANSWERS_OF_A_KIND = """
    SELECT an.id, count(*) OVER ()
    FROM annotation_answer an
    JOIN annotation_vote v ON v.id = an.vote_id
    JOIN annotation_assignment a ON a.id = v.assignment_id
    JOIN annotation_story s ON s.id = a.story_id
    JOIN annotation_study st ON st.id = s.study_id
    WHERE (%(study)s::bigint IS NULL OR s.study_id = %(study)s) AND st.protocol_name = %(protocol)s
      AND an.question = %(question)s AND an.row = %(row)s AND an.option = %(option)s
      AND an.counts_against = %(against)s
    ORDER BY an.id LIMIT %(shown)s
"""


def _installed(name: str) -> Protocol | None:
    try:
        return get_protocol(name)
    except UnknownProtocol:
        return None


def _missing_protocols(study_id: int | None) -> Iterator[str]:
    studies = Study.objects.filter(pk=study_id) if study_id else Study.objects.all()
    for study in studies.order_by("pk"):
        protocol = _installed(study.protocol_name)
        if protocol is None or protocol.version != study.protocol_version:
            yield str(study.pk)


def _votes_not_whole(study_id: int | None) -> Iterator[object]:
    """Votes whose answers are not exactly one of the protocol's options for everything it asks.

    A study whose protocol (or version of it) is not installed cannot be judged here.
    """
    for vote, name, version, content, count, given in stream(_ANSWERS_OF_VOTES, study_id):
        protocol = _installed(name)
        if protocol is None or protocol.version != version:
            continue
        try:
            item = protocol.parse(json.loads(content))
            whole = len(protocol.read_form(item, json.loads(given or "{}"))) == count
        except (IncompleteForm, ValueError):
            whole = False
        if not whole:
            yield vote


def _answers_miscounted(study_id: int | None) -> Offenders:
    """Answers whose copy of “counts against” is not what the protocol says.

    The kinds of answers are few, so the protocol judges kinds, and rows are fetched only for wrong ones.
    """
    total, first = 0, []
    with connection.cursor() as cursor:
        cursor.execute(_KINDS_OF_ANSWERS, {"study": study_id})
        for name, question, row, option, against in cursor.fetchall():
            protocol = _installed(name)
            if protocol is None or _counts_against(protocol, question, option) in (against, UNJUDGED):
                continue
            cursor.execute(
                _ANSWERS_OF_A_KIND,
                {"study": study_id, "protocol": name, "question": question, "row": row, "option": option,
                 "against": against, "shown": SHOWN},
            )  # fmt: skip
            rows = cursor.fetchall()
            total += rows[0][1]
            first += [str(answer) for answer, _ in rows]
    return Offenders(total, tuple(first[:SHOWN]))


UNJUDGED = "depends on the story"


def _counts_against(protocol: Protocol, question: str, option: str) -> bool | str | None:
    """What the protocol says of an answer; None for one it does not know.

    Options that are the story's own cannot be judged without it; what they do is proven by tests.
    """
    try:
        asked = protocol.question(question)
        return asked.option(option).counts_against if asked.is_static else UNJUDGED
    except KeyError:
        return None


def _stories_not_as_imported(study_id: int | None) -> Iterator[int]:
    stories = Story.objects.filter(study=study_id) if study_id else Story.objects.all()
    for story in stories.order_by("pk").iterator(chunk_size=CHUNK):
        row = story.as_row()
        if (row.content_hash, row.text_hash) != (story.content_hash, story.text_hash):
            yield story.pk


CHECKS = (
    Check(
        "protocol_is_installed",
        6,
        "Studies whose protocol, in the version they began with, is not installed here.",
        by_walking(_missing_protocols),
    ),
    Check(
        "counted_assignment_has_its_vote",
        2,
        "Assignments marked as answered and counted that have no counted vote.",
        by_sql(
            """
            SELECT s.study_id, a.id AS row
            FROM annotation_assignment a
            JOIN annotation_story s ON s.id = a.story_id
            LEFT JOIN newest v ON v.assignment_id = a.id
            WHERE a.state = 'submitted' AND (v.id IS NULL OR v.surplus_reason <> '')
            """,
            newest=_NEWEST_VOTE,
        ),
    ),
    Check(
        "surplus_assignment_has_its_vote",
        3,
        "Assignments marked as surplus that have no vote with the reason why it is surplus.",
        by_sql(
            """
            SELECT s.study_id, a.id AS row
            FROM annotation_assignment a
            JOIN annotation_story s ON s.id = a.story_id
            LEFT JOIN newest v ON v.assignment_id = a.id
            WHERE a.state = 'surplus' AND (v.id IS NULL OR v.surplus_reason = '')
            """,
            newest=_NEWEST_VOTE,
        ),
    ),
    Check(
        "vote_stands_on_an_answered_assignment",
        2,
        "Votes whose assignment is not marked as answered: neither counted, nor surplus, nor excluded.",
        by_sql("""
            SELECT s.study_id, v.id AS row
            FROM annotation_vote v
            JOIN annotation_assignment a ON a.id = v.assignment_id
            JOIN annotation_story s ON s.id = a.story_id
            WHERE a.state IN ('leased', 'expired')
        """),
    ),
    Check(
        "vote_answers_the_whole_form",
        2,
        "Votes that do not answer everything the protocol asks with one of its options.",
        by_walking(_votes_not_whole),
    ),
    Check(
        "answer_counts_as_the_protocol_says",
        7,
        "Answers whose copy of “counts against the story” is not what the protocol says.",
        _answers_miscounted,
    ),
    Check(
        "every_vote_is_credited",
        3,
        "Enrollments credited with another number of stories than they have answered.",
        by_sql("""
            SELECT e.study_id, e.id AS row
            FROM annotation_enrollment e
            LEFT JOIN annotation_assignment a ON a.enrollment_id = e.id
                AND EXISTS (SELECT 1 FROM annotation_vote v WHERE v.assignment_id = a.id)
            GROUP BY e.id HAVING e.stories_submitted <> count(a.id)
        """),
    ),
    Check(
        "vote_is_about_the_story_as_it_stands",
        6,
        "Votes on another content than the story has.",
        by_sql("""
            SELECT s.study_id, v.id AS row
            FROM annotation_vote v
            JOIN annotation_assignment a ON a.id = v.assignment_id
            JOIN annotation_story s ON s.id = a.story_id
            WHERE v.story_hash <> s.content_hash
        """),
    ),
    Check(
        "vote_is_under_its_studys_protocol",
        6,
        "Votes given under another version of the protocol than the study's.",
        by_sql("""
            SELECT s.study_id, v.id AS row
            FROM annotation_vote v
            JOIN annotation_assignment a ON a.id = v.assignment_id
            JOIN annotation_story s ON s.id = a.story_id
            JOIN annotation_study st ON st.id = s.study_id
            WHERE v.protocol_version <> st.protocol_version
        """),
    ),
    Check(
        "vote_remembers_how_it_was_served",
        6,
        "Votes whose place in the person's order or time of serving is not the assignment's.",
        by_sql("""
            SELECT s.study_id, v.id AS row
            FROM annotation_vote v
            JOIN annotation_assignment a ON a.id = v.assignment_id
            JOIN annotation_story s ON s.id = a.story_id
            WHERE v.order_position <> a.order_position OR v.served_at <> a.served_at
        """),
    ),
    Check(
        "story_is_as_imported",
        6,
        "Stories whose content is not what their hash was made from.",
        by_walking(_stories_not_as_imported),
    ),
)
