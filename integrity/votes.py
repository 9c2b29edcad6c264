"""Invariants 2, 3, 6, 7, 8 and 10 for votes, their changes, and skips: complete, credited, unchanged."""

import json
from collections.abc import Iterator

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from annotation.models import Story, Study, Vote
from annotation.protocols import UnknownProtocol, get_protocol
from annotation.protocols.base import IncompleteForm, Protocol
from integrity.base import CHUNK, SHOWN, Check, Offenders, by_sql, by_walking, in_the_log, stream, where

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


def _incomplete_votes(study_id: int | None) -> Iterator[object]:
    """Yield votes that do not answer each question with exactly one of its options.

    Studies whose protocol (or version of it) is not installed are skipped.
    """
    for vote, name, version, content, count, given in stream(_ANSWERS_OF_VOTES, study_id):
        protocol = _installed(name)
        if protocol is None or protocol.version != version:
            continue
        try:
            item = protocol.parse(json.loads(content))
            complete = len(protocol.read_form(item, json.loads(given or "{}"))) == count
        except (IncompleteForm, ValueError):
            complete = False
        if not complete:
            yield vote


def _answers_miscounted(study_id: int | None) -> Offenders:
    """Find answers whose stored “counts against” differs from the protocol's.

    There are few kinds of answers, so the protocol judges kinds; rows are fetched only for wrong ones.
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
    """Return whether the protocol counts an answer against the story; None for an unknown answer.

    Options that come from the story cannot be judged without it; tests cover them.
    """
    try:
        asked = protocol.question(question)
        return asked.option(option).counts_against if asked.has_fixed_options else UNJUDGED
    except KeyError:
        return None


def _stories_not_as_imported(study_id: int | None) -> Iterator[int]:
    stories = Story.objects.filter(study=study_id) if study_id else Story.objects.all()
    for story in stories.order_by("pk").iterator(chunk_size=CHUNK):
        row = story.as_row()
        if (row.content_hash, row.text_hash) != (story.content_hash, story.text_hash):
            yield story.pk


_FIXED = """
    SELECT study_id, at FROM (
        SELECT study_id, at, type,
               lead(type) OVER (PARTITION BY study_id ORDER BY id) AS followed_by
        FROM annotation_event WHERE type IN ('answers_frozen', 'answers_thawed')
    ) moment
    WHERE type = 'answers_frozen' AND followed_by IS DISTINCT FROM 'answers_thawed'
"""
"""The times until which answers were frozen for a release that was then published."""


def _counted_but_not_the_last(study_id: int | None) -> Iterator[int]:
    """Yield counted votes of an assignment that has another vote, of the same or a later revision."""
    rival = Vote.objects.filter(assignment=OuterRef("assignment"), revision__gte=OuterRef("revision"))
    counted = Vote.objects.counted().filter(Exists(rival.filter(~Q(pk=OuterRef("pk")))))
    if study_id:
        counted = counted.filter(assignment__story__study=study_id)
    yield from counted.order_by("pk").values_list("pk", flat=True).iterator(chunk_size=CHUNK)


CHECKS = (
    Check(
        "protocol_is_installed",
        6,
        "Studies whose protocol is not installed in the version that they were created with.",
        by_walking(_missing_protocols),
    ),
    Check(
        "counted_assignment_has_its_vote",
        2,
        "Assignments marked as submitted that have no counted vote.",
        where(
            "assignments a LEFT JOIN newest v ON v.assignment_id = a.id",
            "a.state = 'submitted' AND (v.id IS NULL OR v.surplus_reason <> '')",
            row="a.id",
            newest=_NEWEST_VOTE,
        ),
    ),
    Check(
        "surplus_assignment_has_its_vote",
        3,
        "Assignments marked as surplus that have no vote with a reason for being surplus.",
        where(
            "assignments a LEFT JOIN newest v ON v.assignment_id = a.id",
            "a.state = 'surplus' AND (v.id IS NULL OR v.surplus_reason = '')",
            row="a.id",
            newest=_NEWEST_VOTE,
        ),
    ),
    Check(
        "vote_stands_on_an_answered_assignment",
        2,
        "Votes whose assignment is still marked as leased, expired or skipped.",
        where("votes", "state IN ('leased', 'expired', 'skipped')"),
    ),
    Check(
        "vote_answers_the_whole_form",
        2,
        "Votes that do not answer each question with one of its options.",
        by_walking(_incomplete_votes),
    ),
    Check(
        "answer_counts_as_the_protocol_says",
        7,
        "Answers whose stored “counts against the story” differs from the protocol's.",
        _answers_miscounted,
    ),
    Check(
        "every_vote_is_credited",
        3,
        "Enrollments whose number of credited stories differs from those answered, or skipped with credit.",
        by_sql("""
            SELECT e.study_id, e.id AS row
            FROM annotation_enrollment e
            LEFT JOIN annotation_assignment a ON a.enrollment_id = e.id
                AND (EXISTS (SELECT 1 FROM annotation_vote v WHERE v.assignment_id = a.id)
                     OR a.state = 'skipped' AND EXISTS (
                         SELECT 1 FROM annotation_skip k WHERE k.assignment_id = a.id AND k.credited))
            GROUP BY e.id HAVING e.stories_submitted <> count(a.id)
        """),
    ),
    Check(
        "vote_is_about_the_story_as_it_stands",
        6,
        "Votes on a different content than the story's.",
        where("votes", "story_hash <> content_hash"),
    ),
    Check(
        "vote_is_under_its_studys_protocol",
        6,
        "Votes under a different version of the protocol than the study's.",
        where("votes", "protocol_version <> study_protocol"),
    ),
    Check(
        "vote_remembers_how_it_was_served",
        6,
        "Votes whose position, seeds or serving time differ from the assignment's.",
        where(
            "votes v JOIN annotation_assignment a ON a.id = v.assignment_id",
            "v.order_position <> a.order_position OR v.served_at <> a.served_at "
            "OR (v.order_seed, v.option_seed) IS DISTINCT FROM (a.order_seed, a.option_seed)",
            row="v.id",
        ),
    ),
    Check(
        "story_is_as_imported",
        6,
        "Stories whose content does not match their hash.",
        by_walking(_stories_not_as_imported),
    ),
    Check(
        "votes_count_as_their_visit_allows",
        3,
        "Assignments whose state does not fit that of their work session.",
        where(
            "assignments a LEFT JOIN annotation_worksession w ON w.id = a.session_id",
            "a.state = 'pending' AND w.state IS DISTINCT FROM 'open' "
            "OR a.state = 'doubted' AND w.state IS DISTINCT FROM 'doubted' "
            "OR a.state = 'submitted' AND (w.state = 'doubted' "
            "OR w.state = 'open' AND NOT w.counts_unconfirmed)",
            row="a.id",
        ),
    ),
    Check(
        "revisions_count_from_one_without_gaps",
        6,
        "Assignments whose votes are not revisions 1, 2, 3 and so on.",
        by_sql("""
            SELECT study_id, assignment_id AS row FROM votes GROUP BY study_id, assignment_id
            HAVING min(revision) <> 1 OR max(revision) <> count(*) OR count(DISTINCT revision) <> count(*)
        """),
    ),
    Check(
        "only_the_last_revision_counts",
        7,
        "Counted votes that their annotator has replaced.",
        by_walking(_counted_but_not_the_last),
    ),
    Check(
        "changed_vote_keeps_its_context",
        6,
        "Changed votes that are older than the vote they replace, or differ from it in the time of the first "
        "answer, the environment or the reason for being surplus.",
        where(
            "changes",
            "(first_submitted_at, environment, surplus_reason) "
            "<> (older_first_submitted_at, older_environment, older_reason) "
            "OR submitted_at < older_submitted_at",
        ),
    ),
    Check(
        "first_vote_is_its_own_first_answer",
        6,
        "First votes whose first submission time differs from their submission time.",
        where("votes", "revision = 1 AND first_submitted_at <> submitted_at"),
    ),
    Check(
        "published_answer_is_not_replaced",
        7,
        "Votes that were replaced after answers had been frozen for a release.",
        where(
            "changes JOIN fixed USING (study_id)",
            "fixed.at >= older_submitted_at AND fixed.at < submitted_at",
            row="older_id",
            fixed=_FIXED,
        ),
    ),
    Check(
        "skipped_assignment_has_its_skip",
        3,
        "Assignments marked as skipped without a skip, or with a skip but neither skipped nor voted on.",
        where(
            "assignments a LEFT JOIN annotation_skip k ON k.assignment_id = a.id",
            "(a.state = 'skipped') <> (k.assignment_id IS NOT NULL AND NOT EXISTS ("
            "SELECT FROM annotation_vote v WHERE v.assignment_id = a.id))",
            row="a.id",
        ),
    ),
    Check(
        "every_skip_is_counted",
        3,
        "Enrollments whose number of skips differs from their skipped assignments.",
        by_sql("""
            SELECT e.study_id, e.id AS row
            FROM annotation_enrollment e
            LEFT JOIN annotation_assignment a ON a.enrollment_id = e.id AND a.state = 'skipped'
            GROUP BY e.id HAVING e.stories_skipped <> count(a.id)
        """),
    ),
    in_the_log(
        "every_skip_is_in_the_log",
        "Skips without their event in the log.",
        "annotation_skip x JOIN assignments s ON s.id = x.assignment_id",
        "'assignment ' || s.id",
        "'story_skipped'",
        row="s.id",
    ),
    Check(
        "forgotten_people_leave_no_words",
        8,
        "Erased annotators whose comments or words about skipped stories are still stored.",
        by_sql("""
            SELECT a.enrolled_in AS study_id, a.id AS row
            FROM assignments a
            JOIN accounts_annotator p ON p.id = a.annotator_id AND p.erased_at IS NOT NULL
            LEFT JOIN annotation_skip k ON k.assignment_id = a.id
            LEFT JOIN annotation_vote v ON v.assignment_id = a.id
            LEFT JOIN annotation_comment c ON c.vote_id = v.id
            WHERE k.words <> '' OR c.words <> ''
        """),
    ),
)
