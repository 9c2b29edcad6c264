"""Database triggers that protect rounds, experts' answers, keys and attempts."""

import pgtrigger

FINAL = pgtrigger.Update | pgtrigger.Delete
BLIND_AND_FINAL = """
    IF EXISTS (SELECT FROM qualification_expertreview r WHERE r.id IN (NEW.review_id, OLD.review_id)
               AND (r.handed_in_at IS NOT NULL OR r.dismissed_at IS NOT NULL)) THEN
        RAISE EXCEPTION 'pgtrigger: Cannot change what an expert handed in, in table %', TG_TABLE_NAME;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
"""


_STORY_OF_ITS_ROUND = """
    IF NOT EXISTS (SELECT FROM {parent} p JOIN qualification_roundstory s ON s.round_id = p.round_id
                   WHERE p.id = NEW.{column} AND s.id = NEW.round_story_id) THEN
        RAISE EXCEPTION 'pgtrigger: Cannot speak of a story of another round, in table %', TG_TABLE_NAME;
    END IF;
    RETURN NULL;
"""
KEY_OF_ITS_ROUND = """
    IF NOT EXISTS (SELECT FROM qualification_answerkey k
                   WHERE k.id = NEW.key_id AND k.round_id = NEW.round_id) THEN
        RAISE EXCEPTION 'pgtrigger: Cannot be graded by the key of another round';
    END IF;
    IF EXISTS (SELECT FROM qualification_round r WHERE r.id = NEW.round_id AND r.kind <> 'test') THEN
        RAISE EXCEPTION 'pgtrigger: Cannot take a test in a practice round';
    END IF;
    RETURN NULL;
"""
NOT_UNDER_A_TESTS_KEY = """
    IF NOT EXISTS (SELECT FROM qualification_answerkey k
                   JOIN qualification_round r ON r.id = k.round_id
                   JOIN annotation_enrollment e ON e.study_id = r.study_id
                   WHERE k.id = NEW.key_id AND e.id = NEW.enrollment_id AND r.kind <> 'test') THEN
        RAISE EXCEPTION 'pgtrigger: Cannot practise what is a test, or of another study';
    END IF;
    RETURN NULL;
"""
PRACTISED_OR_TESTED = """
    IF EXISTS (SELECT FROM qualification_round mine
               JOIN annotation_story s ON s.id = NEW.story_id
               JOIN qualification_round other ON other.study_id = mine.study_id
               JOIN qualification_roundstory rs ON rs.round_id = other.id
               JOIN annotation_story o ON o.id = rs.story_id AND o.text_hash = s.text_hash
               WHERE mine.id = NEW.round_id AND (mine.kind = 'test') <> (other.kind = 'test')) THEN
        RAISE EXCEPTION 'pgtrigger: Cannot test a text that is practised';
    END IF;
    RETURN NULL;
"""
NOBODY_BEGAN = """
    IF EXISTS (SELECT FROM qualification_attempt a WHERE a.key_id = NEW.key_id)
       OR EXISTS (SELECT FROM qualification_practiceanswer p WHERE p.key_id = NEW.key_id) THEN
        RAISE EXCEPTION 'pgtrigger: Cannot add to a key that somebody began under, in %', TG_TABLE_NAME;
    END IF;
    RETURN NEW;
"""
NOT_HANDED_IN = """
    IF EXISTS (SELECT FROM qualification_attempt a WHERE a.id IN (NEW.attempt_id, OLD.attempt_id)
               AND a.state <> 'started') THEN
        RAISE EXCEPTION 'pgtrigger: Cannot change an attempt that has been handed in or is void';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
"""
ONLY_BECOMES_VOID = """
    IF TG_OP = 'UPDATE' THEN
        IF NEW.state = 'void' AND to_jsonb(NEW) - 'state' - 'voided_at' - 'was_theirs'
                = to_jsonb(OLD) - 'state' - 'voided_at' - 'was_theirs' THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'pgtrigger: Cannot change an attempt that has been handed in, but to make it void';
"""
STAYS_UNDER_ITS_KEY = """
    IF EXISTS (SELECT FROM qualification_answerkey k WHERE k.round_id IN (NEW.round_id, OLD.round_id)) THEN
        RAISE EXCEPTION 'pgtrigger: Cannot change the stories of a round that has a key';
    END IF;
    RETURN NULL;
"""
NOBODY_IS_BLIND = """
    IF EXISTS (SELECT FROM qualification_expertreview r WHERE r.round_id = NEW.id
               AND r.handed_in_at IS NULL AND r.dismissed_at IS NULL) THEN
        RAISE EXCEPTION 'pgtrigger: Cannot lay open what somebody has still to answer blind';
    END IF;
    RETURN NULL;
"""
NOTHING_IS_OPEN = """
    IF NEW.dismissed_at IS NULL AND EXISTS (
        SELECT FROM qualification_round r WHERE r.id = NEW.round_id AND r.laid_open_at IS NOT NULL) THEN
        RAISE EXCEPTION 'pgtrigger: Cannot answer blind what has been laid open';
    END IF;
    RETURN NULL;
"""


def story_of_its_round(parent: str, column: str) -> pgtrigger.Trigger:
    """Make a trigger: rows about a story of a round belong to that round."""
    return pgtrigger.Trigger(
        name="story_is_of_its_round",
        operation=pgtrigger.Insert | pgtrigger.Update,
        when=pgtrigger.After,
        func=_STORY_OF_ITS_ROUND.format(parent=parent, column=column),
    )


def frozen_key_does_not_grow() -> pgtrigger.Trigger:
    """Make a trigger: a key with attempts cannot grow, so that all attempts are graded by all of it."""
    return pgtrigger.Trigger(
        name="frozen_key_does_not_grow",
        operation=pgtrigger.Insert,
        when=pgtrigger.Before,
        func=NOBODY_BEGAN,
    )
