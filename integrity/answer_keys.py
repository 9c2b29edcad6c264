"""Invariants 5 and 10 for answer keys and the experts' answers behind them."""

from collections.abc import Iterator

from annotation.protocols import is_installed
from integrity.base import CHUNK, Check, by_sql, by_walking, in_the_log, where
from qualification.models import ExpertReview


def _incomplete_reviews(study_id: int | None) -> Iterator[int]:
    """Yield submitted reviews that miss a question, or choose an option that is not offered.

    Studies whose protocol (or version of it) is not installed are skipped.
    """
    reviews = ExpertReview.objects.filter(handed_in_at__isnull=False)
    if study_id:
        reviews = reviews.filter(round__study=study_id)
    related = ("answers", "round__round_stories__story__study")
    for review in reviews.order_by("pk").prefetch_related(*related).iterator(chunk_size=CHUNK):
        entries = review.round.round_stories.all()
        study = review.round.study
        if not is_installed(study.protocol_name, study.protocol_version):
            continue
        offered = {(entry.pk, *cell.key): cell.labels for entry in entries for cell in entry.story.cells}
        said = {(one.round_story_id, one.question, one.row): one.option for one in review.answers.all()}
        if said.keys() != offered.keys() or any(said[cell] not in offered[cell] for cell in said):
            yield review.pk


CHECKS = (
    Check(
        "rounds_that_can_be_taken_have_a_key",
        5,
        "Rounds that are or were active without a key, or that are marked “without a key” but have one.",
        where(
            "qualification_round r",
            "(state = 'preparing') = EXISTS (SELECT FROM qualification_answerkey k WHERE k.round_id = r.id)",
        ),
    ),
    Check(
        "a_test_that_is_asked_for_can_be_taken",
        5,
        "Studies that require a test but have no active round.",
        where(
            "annotation_study st",
            "gate = 'ready' AND NOT EXISTS (SELECT FROM qualification_round r "
            "WHERE r.study_id = st.id AND r.state = 'active' AND r.kind = 'test')",
            study="id",
        ),
    ),
    Check(
        "nobody_answers_blind_once_answers_are_open",
        5,
        "Rounds that reveal the experts' answers while an expert has still to answer.",
        where(
            "qualification_round r",
            "revealed_at IS NOT NULL AND EXISTS (SELECT FROM qualification_expertreview x "
            "WHERE x.round_id = r.id AND x.handed_in_at IS NULL AND x.dismissed_at IS NULL)",
        ),
    ),
    Check(
        "expert_answers_everything",
        5,
        "Experts' submitted reviews that do not answer exactly the questions asked.",
        by_walking(_incomplete_reviews),
    ),
    Check(
        "key_speaks_of_its_own_round",
        5,
        "Keys that accept an option, or give a reason, for a story of another round.",
        by_sql("""
            SELECT r.study_id, k.id AS row
            FROM (SELECT key_id, round_story_id FROM qualification_acceptableoption
                  UNION SELECT key_id, round_story_id FROM qualification_keyreason) said
            JOIN qualification_answerkey k ON k.id = said.key_id
            JOIN qualification_round r ON r.id = k.round_id
            JOIN qualification_roundstory rs ON rs.id = said.round_story_id
            WHERE rs.round_id <> k.round_id GROUP BY r.study_id, k.id
        """),
    ),
    Check(
        "experts_are_in_the_log",
        10,
        "Rounds for which the log records fewer experts, asked or done, than there are.",
        by_sql("""
            SELECT r.study_id, r.id AS row FROM qualification_round r
            JOIN (VALUES ('expert_asked'), ('expert_done')) AS wanted (type) ON true
            WHERE (SELECT count(*) FROM annotation_event ev
                   WHERE ev.study_id = r.study_id AND ev.type = wanted.type
                     AND ev.subject = 'round ' || r.number)
                < (SELECT count(*) FROM qualification_expertreview x
                   WHERE x.round_id = r.id
                     AND (wanted.type = 'expert_asked' OR x.handed_in_at IS NOT NULL))
            GROUP BY r.study_id, r.id
        """),
    ),
    in_the_log(
        "key_is_in_the_log",
        "Answer keys missing from the log.",
        "qualification_answerkey x JOIN qualification_round s ON s.id = x.round_id",
        "'round ' || s.number || ' key ' || x.version",
        "'answer_key_set'",
    ),
)
