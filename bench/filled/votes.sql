-- The answers, by visits of ten stories: nine of the study's and, as the last, a hidden check. `p` is the
-- person, `j` counts their visits from 0. The last stories have no vote yet.
CREATE TEMP TABLE work AS
SELECT row_number() OVER (ORDER BY served) AS n, *
FROM (
    SELECT p, j, m, story, slot, 10 * j + mod(q, 9) + 1 AS position, NULL::int AS checked,
           moment + mod(q, 9) * interval '45 seconds' AS served
    FROM (SELECT id AS story, row_number() OVER (ORDER BY id) AS m FROM annotation_story
          WHERE study_id = %(study)s AND role = 'main' AND id > %(stories)s) AS main
    CROSS JOIN generate_series(1, 3) AS slot,
    LATERAL (SELECT 1 + mod(m + slot, %(people)s) AS p, 3 * ((m + slot) / %(people)s) + 3 - slot AS q) AS person,
    LATERAL (SELECT q / 9 AS j) AS visit,
    LATERAL (SELECT %(start)s::timestamptz + (j * %(people)s + p)::float8 / (%(visits)s * %(people)s)
                    * (%(now)s::timestamptz - interval '10 minutes' - %(start)s::timestamptz) AS moment) AS t
    WHERE m <= %(voted)s
) AS main;

INSERT INTO work
SELECT n + (SELECT max(n) FROM work), p, j, m, (%(checks)s::bigint[])[1 + place], NULL, position + 1, 1 + place,
       served + interval '45 seconds'
FROM work, LATERAL (SELECT mod(j + p, cardinality(%(checks)s::bigint[])) AS place) AS c
WHERE mod(position, 10) = 9;

-- Visits, with what their platforms said of them. Who came by the study's link has no work session. `luck`
-- decides what becomes of each.
CREATE TEMP TABLE visit AS
SELECT j * %(people)s + p AS v, luck, p, j, person.annotator, person.enrollment, platform, count(*) AS answers,
       min(served) - interval '20 seconds' AS arrived, max(served) + interval '50 seconds' AS ended,
       CASE WHEN platform = 'link' THEN 'none'
            WHEN min(served) > %(now)s::timestamptz - interval '3 hours' THEN 'open'
            WHEN mod(luck, 100) = 13 OR mod(luck, 500) = 31 THEN 'doubted'
            ELSE 'confirmed' END AS state
FROM work JOIN person ON person.n = p,
     LATERAL (SELECT hashint8(j * %(people)s + p)::bigint & 2147483647 AS luck) AS drawn
GROUP BY p, j, luck, person.annotator, person.enrollment, platform, person.n;
CREATE UNIQUE INDEX ON visit (v);
ANALYZE visit;

CREATE TEMP TABLE given AS
SELECT work.*, visit.enrollment,
       CASE WHEN visit.state <> 'none' THEN %(sessions)s + v END AS session,
       CASE WHEN checked IS NULL AND mod(3 * m + slot, 500) = 3 THEN 'surplus'
            WHEN mod(work.p, 100) = 7 THEN 'excluded'
            WHEN visit.state = 'open' THEN 'pending'
            WHEN visit.state = 'doubted' THEN 'doubted' ELSE 'submitted' END AS state,
       checked IS NOT NULL AND (mod(work.p, 50) = 9 AND mod(work.j, 2) = 0 OR mod(work.p + work.j, 20) = 0) AS failed,
       served + interval '25 seconds' + mod(7 * n, 19) * interval '1 second' AS submitted
FROM work JOIN visit ON v = work.j * %(people)s + work.p;
DROP TABLE work;
ANALYZE given;

INSERT INTO annotation_assignment
    (id, story_id, enrollment_id, session_id, state, slot, slots, order_position, served_at, lease_expires_at)
SELECT %(assignments)s + n, story, enrollment, session, state, slot, CASE WHEN checked IS NULL THEN 3 ELSE 0 END,
       position, served, served + interval '30 minutes'
FROM given ORDER BY n;

-- One vote in a hundred was changed an hour later.
CREATE TEMP TABLE vote AS
SELECT n, %(votes)s + n AS id, 1 AS revision, submitted AS at FROM given
UNION ALL
SELECT n, %(votes)s + (SELECT max(n) FROM given) + row_number() OVER (ORDER BY n), 2, submitted + interval '1 hour'
FROM given WHERE mod(n, 100) = 5 AND state = 'submitted' AND checked IS NULL AND submitted < %(now)s::timestamptz - interval '2 hours';

INSERT INTO annotation_vote
    (id, assignment_id, revision, protocol_version, language, story_hash, order_position, served_at,
     first_submitted_at, submitted_at, environment, surplus_reason)
SELECT vote.id, %(assignments)s + n, revision, '1', 'en', content_hash, position, served, submitted, vote.at,
       'live', CASE given.state WHEN 'surplus' THEN 'late' ELSE '' END
FROM vote JOIN given USING (n) JOIN annotation_story AS story ON story.id = given.story
ORDER BY vote.id;

INSERT INTO annotation_answer (vote_id, question, "row", option, counts_against)
SELECT vote.id, question, '', option, option = 'no'
FROM vote JOIN given USING (n), LATERAL (VALUES
        ('q1', CASE WHEN mod(n, 5) = 0 OR revision = 2 THEN 'possibly' ELSE 'yes' END),
        ('q2', CASE WHEN mod(n, 7) = 0 THEN 'possibly' ELSE 'yes' END),
        ('q3', CASE WHEN failed OR slot = 2 AND mod(m, 3) = 0 THEN 'no' ELSE 'yes' END),
        ('q4', 'yes')) AS chosen(question, option)
ORDER BY vote.id, question;

INSERT INTO annotation_checkresult (vote_id, key_id, passed)
SELECT %(votes)s + n, (%(check_keys)s::bigint[])[checked], NOT failed FROM given WHERE checked IS NOT NULL ORDER BY n;

INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
SELECT %(study)s, CASE revision WHEN 1 THEN 'vote_submitted' ELSE 'vote_changed' END, enrollment, 'vote ' || vote.id, '', vote.at
FROM vote JOIN given USING (n) ORDER BY vote.at;
INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
SELECT %(study)s, 'check_failed', enrollment, 'vote ' || %(votes)s + n, '', submitted FROM given WHERE failed ORDER BY n;
INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
SELECT %(study)s, 'annotator_warned', enrollment, '', '2 of 5 checks failed', came + interval '30 days'
FROM person WHERE fails_checks ORDER BY n;

UPDATE annotation_enrollment AS e SET stories_submitted = w.answers, last_submitted_at = w.last
FROM (SELECT enrollment, sum(answers) AS answers, max(ended) AS last FROM visit GROUP BY enrollment) AS w
WHERE e.id = w.enrollment;

-- Whose votes were excluded: their slots are free again.
INSERT INTO annotation_voteexclusion (id, enrollment_id, reason, suspended, excluded_at, lifted_because)
SELECT %(exclusions)s + n, enrollment, 'Answers that cannot have been read.', true, %(now)s::timestamptz - interval '1 day', ''
FROM person WHERE state = 'suspended' ORDER BY n;
INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
SELECT %(study)s, type, enrollment, CASE type WHEN 'annotator_excluded' THEN 'exclusion ' || %(exclusions)s + n ELSE '' END,
       'Answers that cannot have been read.', %(now)s::timestamptz - interval '1 day'
FROM person, unnest(ARRAY['enrollment_suspended', 'annotator_excluded']) AS type WHERE state = 'suspended' ORDER BY n;
