-- Invariants 5 and 10 for answer keys and the experts' answers behind them.

-- rounds_that_can_be_taken_have_a_key (5)
-- Rounds that are or were active without a key, or that are marked “without a key” but have one.
SELECT study_id, id AS row
FROM qualification_round r
WHERE (state = 'preparing') = EXISTS (SELECT FROM qualification_answerkey k WHERE k.round_id = r.id);

-- a_test_that_is_asked_for_can_be_taken (5)
-- Studies that require a test but have no active round.
SELECT id AS study_id, id AS row
FROM annotation_study st
WHERE gate = 'ready' AND NOT EXISTS (
    SELECT FROM qualification_round r
    WHERE r.study_id = st.id AND r.state = 'active' AND r.kind IN ('test', 'quiz'));

-- nobody_answers_blind_once_answers_are_open (5)
-- Rounds that reveal the experts' answers while an expert has still to answer.
SELECT study_id, id AS row
FROM qualification_round r
WHERE revealed_at IS NOT NULL AND EXISTS (
    SELECT FROM qualification_expertreview x
    WHERE x.round_id = r.id AND x.handed_in_at IS NULL AND x.dismissed_at IS NULL);

-- key_speaks_of_its_own_round (5)
-- Keys that accept an option, or give a reason, for a story of another round.
SELECT r.study_id, k.id AS row
FROM (SELECT key_id, round_story_id FROM qualification_acceptableoption
      UNION SELECT key_id, round_story_id FROM qualification_keyreason) said
JOIN qualification_answerkey k ON k.id = said.key_id
JOIN qualification_round r ON r.id = k.round_id
JOIN qualification_roundstory rs ON rs.id = said.round_story_id
WHERE rs.round_id <> k.round_id GROUP BY r.study_id, k.id;

-- experts_are_in_the_log (10)
-- Rounds for which the log records fewer experts, asked or done, than there are.
SELECT r.study_id, r.id AS row FROM qualification_round r
JOIN (VALUES ('expert_asked'), ('expert_done')) AS wanted (type) ON true
WHERE (SELECT count(*) FROM annotation_event ev
       WHERE ev.study_id = r.study_id AND ev.type = wanted.type
         AND ev.subject = 'round ' || r.number)
    < (SELECT count(*) FROM qualification_expertreview x
       WHERE x.round_id = r.id
         AND (wanted.type = 'expert_asked' OR x.handed_in_at IS NOT NULL))
GROUP BY r.study_id, r.id;
