-- Invariant 5 for qualification rounds, their keys, and attempts.

-- attempts_stay_within_what_is_allowed (5)
-- Enrollments with more attempts, over all rounds, than their first round allows.
SELECT r.study_id, first.enrollment_id AS row
FROM qualification_attempt first JOIN qualification_round r ON r.id = first.round_id
WHERE first.number = 1 AND first.state <> 'void' AND r.attempts_allowed < (
    SELECT count(*) FROM qualification_attempt t
    WHERE t.enrollment_id = first.enrollment_id AND t.state <> 'void');

-- attempt_stays_in_its_study (5)
-- Attempts at a round of another study, or under the key of another round.
SELECT r.study_id, t.id AS row
FROM qualification_attempt t
JOIN qualification_round r ON r.id = t.round_id
JOIN qualification_answerkey k ON k.id = t.key_id
JOIN annotation_enrollment e ON e.id = t.enrollment_id
WHERE r.study_id <> e.study_id OR k.round_id <> t.round_id;

-- instructions_are_of_the_study (6)
-- Votes and attempts that name the instructions of another study.
SELECT v.study_id, v.id AS row
FROM votes v JOIN annotation_instructiontext i ON i.id = v.instructions_id
WHERE v.study_id <> i.study_id
UNION ALL SELECT r.study_id, t.id
FROM qualification_attempt t
JOIN annotation_instructiontext i ON i.id = t.instructions_id
JOIN qualification_round r ON r.id = t.round_id WHERE r.study_id <> i.study_id;

-- practice_is_no_test (5)
-- Practice rounds with an attempt or a text that is also tested, and tests with practice answers.
SELECT DISTINCT r.study_id, r.id AS row FROM qualification_round r
JOIN qualification_roundstory rs ON rs.round_id = r.id
JOIN annotation_story s ON s.id = rs.story_id
WHERE CASE WHEN r.kind IN ('test', 'quiz')
    THEN EXISTS (SELECT FROM qualification_practiceanswer p WHERE p.round_story_id = rs.id)
    ELSE EXISTS (SELECT FROM qualification_attempt t WHERE t.round_id = r.id) OR EXISTS (
        SELECT FROM qualification_round test
        JOIN qualification_roundstory tested ON tested.round_id = test.id
        JOIN annotation_story o ON o.id = tested.story_id AND o.text_hash = s.text_hash
        WHERE test.study_id = r.study_id AND test.kind IN ('test', 'quiz')) END;

-- standing_follows_from_the_attempt (5)
-- Events that qualify or fail an annotator by an attempt with another result, or of somebody else.
SELECT ev.study_id, ev.id AS row
FROM annotation_event ev
LEFT JOIN qualification_attempt t
    ON ev.note = 'attempt ' || t.id AND t.enrollment_id = ev.enrollment_id
    AND t.passed = (ev.type = 'enrollment_qualified')
WHERE ev.type IN ('enrollment_qualified', 'enrollment_failed')
  AND ev.note LIKE 'attempt %' AND t.id IS NULL;

-- test_stories_are_never_served (5)
-- Assignments of qualification stories.
SELECT study_id, id AS row
FROM assignments
WHERE role IN ('qualification', 'quiz');

-- rounds_use_test_stories (5)
-- Stories of a round that are not qualification stories of its study.
SELECT r.study_id, rs.id AS row
FROM qualification_roundstory rs
JOIN qualification_round r ON r.id = rs.round_id
JOIN annotation_story s ON s.id = rs.story_id
WHERE s.role <> CASE r.kind WHEN 'quiz' THEN 'quiz' ELSE 'qualification' END OR s.study_id <> r.study_id;
