-- Everybody by number: the first `people` passed the test, those up to `tried` failed it, those up to
-- `agreed` never took it, those up to `invited` never came. Nine of ten come from a platform.
CREATE TEMP TABLE person AS
SELECT n, %(annotators)s + n AS annotator, %(enrollments)s + n AS enrollment,
       CASE WHEN mod(n, 10) = 0 THEN 'link' WHEN mod(n, 2) = 0 THEN 'mturk' ELSE 'prolific' END AS platform,
       CASE WHEN n <= %(people)s THEN CASE WHEN mod(n, 100) = 7 THEN 'suspended' ELSE 'qualified' END
            WHEN n <= %(tried)s THEN 'failed'
            WHEN n <= %(agreed)s THEN 'consented' ELSE 'invited' END AS state,
       n <= %(people)s AND mod(n, 50) = 9 AS fails_checks,
       %(began)s::timestamptz + interval '2 days' + mod(n * 7919, %(invited)s) * interval '18 days' / %(invited)s AS came,
       pseudonym
FROM unnest(%(pseudonyms)s::text[]) WITH ORDINALITY AS named(pseudonym, n);

INSERT INTO accounts_annotator (id, created_at) SELECT annotator, came FROM person ORDER BY n;

INSERT INTO accounts_platformidentity (annotator_id, platform, environment, person, language, created_at)
SELECT annotator, platform, 'live', CASE platform WHEN 'link' THEN %(source)s || '/' ELSE '' END || 'worker' || n,
       '', came
FROM person ORDER BY n;

INSERT INTO annotation_enrollment
    (id, study_id, annotator_id, pseudonym, environment, state, consent_id, consented_at, link_version, link_nonce, suspension_reason,
     stories_submitted, stories_skipped, warned_after, checks_from, language, created_at, state_changed_at)
SELECT enrollment, %(study)s, annotator, pseudonym, 'live', state,
       CASE WHEN state <> 'invited' THEN %(consent)s END, CASE WHEN state <> 'invited' THEN came END,
       1, n, CASE state WHEN 'suspended' THEN 'Thank you. We ask you to stop here.' ELSE '' END,
       0, 0, CASE WHEN fails_checks THEN 30 END, 0, '', came, came + interval '10 minutes'
FROM person ORDER BY n;

-- The test: two rounds in turn. Who fails gives one or two answers that the key does not accept.
CREATE TEMP TABLE attempt AS
SELECT n, %(attempts)s + n AS id, enrollment, came, state <> 'failed' AS passed,
       (%(rounds)s::bigint[])[1 + mod(n, 2)] AS round, (%(keys)s::bigint[])[1 + mod(n, 2)] AS key
FROM person WHERE n <= %(tried)s;

INSERT INTO qualification_attempt
    (id, round_id, enrollment_id, key_id, number, attempts_allowed, state, started_at, submitted_at, passed)
SELECT id, round, enrollment, key, 1, 1, 'submitted', came + interval '1 minute',
       came + interval '4 minutes' + mod(n, 300) * interval '1 second', passed
FROM attempt ORDER BY n;

INSERT INTO qualification_attemptanswer (attempt_id, round_story_id, question, "row", option, accepted)
SELECT a.id, s.id, question, '', CASE WHEN wrong THEN 'no' ELSE 'yes' END, NOT wrong
FROM attempt AS a JOIN qualification_roundstory AS s ON s.round_id = a.round,
     LATERAL (VALUES ('q1', false), ('q2', false),
                     ('q3', NOT passed AND s.position = 1 + mod(n, 5)),
                     ('q4', NOT passed AND mod(n, 3) = 0 AND s.position = 1 + mod(n, 4))) AS given(question, wrong)
ORDER BY a.n, s.position, question;

INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
SELECT %(study)s, type, enrollment, subject, note, came + later
FROM (
    SELECT 'annotator_invited', enrollment, '', '', came, interval '0' FROM person
    UNION ALL
    SELECT 'consent_given', enrollment, 'consent 1', '', came, interval '50 seconds' FROM person WHERE state <> 'invited'
    UNION ALL
    SELECT 'attempt_started', enrollment, 'attempt ' || id, '', came, interval '1 minute' FROM attempt
    UNION ALL
    SELECT 'attempt_submitted', enrollment, 'attempt ' || id, '', came, interval '9 minutes' FROM attempt
    UNION ALL
    SELECT CASE WHEN passed THEN 'enrollment_qualified' ELSE 'enrollment_failed' END, enrollment, '',
           'attempt ' || id, came, interval '9 minutes' FROM attempt
) AS told(type, enrollment, subject, note, came, later)
ORDER BY came + later;
