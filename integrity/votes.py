"""Checks of votes and people that SQL alone cannot decide: they need protocols, hashes and keys."""

import json
from collections.abc import Iterator

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from annotation.models import Story, Study, Vote
from annotation.protocols import UnknownProtocol, get_protocol
from annotation.protocols.base import IncompleteForm, Protocol
from annotation.rules import pseudonym
from integrity.base import CHUNK, SHOWN, Check, Offenders, by_walking, stream

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
    """Return True if the protocol counts an answer against the story; None for an unknown answer.

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


def _counted_but_not_the_last(study_id: int | None) -> Iterator[int]:
    """Yield counted votes of an assignment that has another vote, of the same or a later revision."""
    rival = Vote.objects.filter(assignment=OuterRef("assignment"), revision__gte=OuterRef("revision"))
    counted = Vote.objects.counted().filter(Exists(rival.filter(~Q(pk=OuterRef("pk")))))
    if study_id:
        counted = counted.filter(assignment__story__study=study_id)
    yield from counted.order_by("pk").values_list("pk", flat=True).iterator(chunk_size=CHUNK)


def _false_pseudonyms(study_id: int | None) -> Iterator[str]:
    """Yield enrollments whose pseudonym does not follow from the study's key."""
    query = """
        SELECT e.id, e.annotator_id, e.pseudonym, s.pseudonym_key
        FROM annotation_enrollment e JOIN annotation_study s ON s.id = e.study_id
        WHERE %(study)s::bigint IS NULL OR s.id = %(study)s ORDER BY e.id"""
    for number, annotator, stored, key in stream(query, study_id):
        if stored != pseudonym(key, annotator):
            yield f"enrollment {number}"


CHECKS = (
    Check(
        "protocol_is_installed",
        6,
        "Studies whose protocol is not installed in the version that they were created with.",
        by_walking(_missing_protocols),
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
        "story_is_as_imported",
        6,
        "Stories whose content does not match their hash.",
        by_walking(_stories_not_as_imported),
    ),
    Check(
        "only_the_last_revision_counts",
        7,
        "Counted votes that their annotator has replaced.",
        by_walking(_counted_but_not_the_last),
    ),
    Check(
        "pseudonym_follows_from_the_key",
        8,
        "Enrollments whose pseudonym does not follow from the study's key.",
        by_walking(_false_pseudonyms),
    ),
)
