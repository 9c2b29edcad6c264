"""Database triggers that protect rounds, experts' answers, keys and attempts."""

import pgtrigger

from accounts.schema import after, before, refuse_if

BLIND_AND_FINAL = refuse_if(
    """EXISTS (SELECT FROM qualification_expertreview r WHERE r.id IN (NEW.review_id, OLD.review_id)
               AND (r.handed_in_at IS NOT NULL OR r.dismissed_at IS NOT NULL))""",
    "pgtrigger: Cannot change what an expert handed in",
)
KEY_OF_ITS_ROUND = refuse_if(
    """NOT EXISTS (SELECT FROM qualification_answerkey k
                   JOIN qualification_round r ON r.id = k.round_id
                   WHERE k.id = NEW.key_id AND r.id = NEW.round_id AND r.kind IN ('test', 'quiz'))""",
    "pgtrigger: Cannot take a test in a practice round, or be graded by the key of another round",
)
NOT_UNDER_A_TESTS_KEY = refuse_if(
    """NOT EXISTS (SELECT FROM qualification_answerkey k
                   JOIN qualification_round r ON r.id = k.round_id
                   JOIN annotation_enrollment e ON e.study_id = r.study_id
                   WHERE k.id = NEW.key_id AND e.id = NEW.enrollment_id
                     AND r.kind NOT IN ('test', 'quiz'))""",
    "pgtrigger: Cannot practise what is a test, or of another study",
)
PRACTISED_OR_TESTED = refuse_if(
    """EXISTS (SELECT FROM qualification_round mine
               JOIN annotation_story s ON s.id = NEW.story_id
               JOIN qualification_round other ON other.study_id = mine.study_id
               JOIN qualification_roundstory rs ON rs.round_id = other.id
               JOIN annotation_story o ON o.id = rs.story_id AND o.text_hash = s.text_hash
               WHERE mine.id = NEW.round_id
                 AND (mine.kind IN ('test', 'quiz')) <> (other.kind IN ('test', 'quiz')))""",
    "pgtrigger: Cannot test a text that is practised",
)
NOBODY_BEGAN = refuse_if(
    """EXISTS (SELECT FROM qualification_attempt a WHERE a.key_id = NEW.key_id)
       OR EXISTS (SELECT FROM qualification_practiceanswer p WHERE p.key_id = NEW.key_id)""",
    "pgtrigger: Cannot add to a key that somebody began under",
)
NOT_HANDED_IN = refuse_if(
    """EXISTS (SELECT FROM qualification_attempt a WHERE a.id IN (NEW.attempt_id, OLD.attempt_id)
               AND a.state <> 'started')""",
    "pgtrigger: Cannot change an attempt that has been handed in or is void",
)
ONLY_BECOMES_VOID = refuse_if(
    """TG_OP = 'DELETE' OR NEW.state <> 'void' OR to_jsonb(NEW) - 'state' - 'voided_at' - 'was_theirs'
                <> to_jsonb(OLD) - 'state' - 'voided_at' - 'was_theirs'""",
    "pgtrigger: Cannot change an attempt that has been handed in, but to make it void",
)
STAYS_UNDER_ITS_KEY = refuse_if(
    "EXISTS (SELECT FROM qualification_answerkey k WHERE k.round_id IN (NEW.round_id, OLD.round_id))",
    "pgtrigger: Cannot change the stories of a round that has a key",
)
NOBODY_IS_BLIND = refuse_if(
    """EXISTS (SELECT FROM qualification_expertreview r WHERE r.round_id = NEW.id
               AND r.handed_in_at IS NULL AND r.dismissed_at IS NULL)""",
    "pgtrigger: Cannot reveal what somebody has still to answer blind",
)
NOTHING_IS_OPEN = refuse_if(
    """NEW.dismissed_at IS NULL AND EXISTS (
               SELECT FROM qualification_round r WHERE r.id = NEW.round_id AND r.revealed_at IS NOT NULL)""",
    "pgtrigger: Cannot answer blind what has been revealed",
)


def story_of_its_round(parent: str, column: str) -> pgtrigger.Trigger:
    """Make a trigger: rows about a story of a round belong to that round."""
    body = refuse_if(
        f"""NOT EXISTS (SELECT FROM {parent} p JOIN qualification_roundstory s ON s.round_id = p.round_id
                   WHERE p.id = NEW.{column} AND s.id = NEW.round_story_id)""",
        "pgtrigger: Cannot speak of a story of another round",
    )
    return after("story_is_of_its_round", pgtrigger.Insert | pgtrigger.Update, body)


def frozen_key_does_not_grow() -> pgtrigger.Trigger:
    """Make a trigger: a key with attempts cannot grow, so that all attempts are graded by all of it."""
    return before("frozen_key_does_not_grow", pgtrigger.Insert, NOBODY_BEGAN)
