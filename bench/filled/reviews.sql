-- Samples of a hundred answers drawn for review; three of four have been judged, some taken out by that.
CREATE TEMP TABLE drawn AS
SELECT *, (place + 99) / 100 AS sample
FROM (SELECT n, enrollment, row_number() OVER (ORDER BY n) AS place, submitted AS at
      FROM given WHERE checked IS NULL AND state = 'submitted' AND mod(n, 150) = 1) AS answers;

INSERT INTO annotation_reviewsample (id, study_id, kind, among, people, per_person, seed, drawn_by_id, drawn_at)
SELECT %(samples)s + sample, %(study)s, 'random', 'everybody', 20, 5, sample, %(owner)s, max(at)
FROM drawn GROUP BY sample ORDER BY sample;
INSERT INTO annotation_reviewitem (id, sample_id, position, vote_id, flag)
SELECT %(items)s + place, %(samples)s + sample, 1 + mod(place - 1, 100), %(votes)s + n,
       CASE WHEN mod(place, 10) = 0 THEN 'quick' ELSE '' END
FROM drawn ORDER BY place;
INSERT INTO annotation_spotcheck (id, vote_id, item_id, decision, reason, by_id, at)
SELECT %(spot_checks)s + place, %(votes)s + n, %(items)s + place,
       CASE WHEN mod(place, 20) = 1 THEN 'uncounted' ELSE 'accept' END,
       CASE WHEN mod(place, 20) = 1 THEN 'Nothing was read.' ELSE '' END, %(owner)s, at + interval '1 day'
FROM drawn WHERE mod(place, 4) <> 0 ORDER BY place;
INSERT INTO annotation_voteexclusion
    (id, enrollment_id, assignment_id, reason, suspended, excluded_by_id, excluded_at, lifted_because)
SELECT %(exclusions)s + %(people)s + place, enrollment, %(assignments)s + n, 'Nothing was read.', false, %(owner)s,
       at + interval '1 day', ''
FROM drawn WHERE mod(place, 20) = 1 ORDER BY place;
UPDATE annotation_assignment AS a SET state = 'excluded' FROM drawn WHERE a.id = %(assignments)s + n AND mod(place, 20) = 1;

INSERT INTO annotation_adjudication (id, story_id, question, "row", verdict, reason, by_id, at)
SELECT %(adjudications)s + m, story, '', '', 'valid', 'Two readers see nothing wrong with it.', %(owner)s, max(submitted)
FROM given WHERE checked IS NULL AND mod(m, 500) = 0 GROUP BY m, story ORDER BY m;

INSERT INTO annotation_event (study_id, type, actor_id, enrollment_id, subject, note, at)
SELECT %(study)s, 'review_sample_drawn', drawn_by_id, NULL, 'sample ' || id, '', drawn_at
FROM annotation_reviewsample WHERE id > %(samples)s
UNION ALL
SELECT %(study)s, 'vote_checked', %(owner)s, enrollment, 'spot check ' || %(spot_checks)s + place, '', at + interval '1 day'
FROM drawn WHERE mod(place, 4) <> 0
UNION ALL
SELECT %(study)s, 'vote_excluded', %(owner)s, enrollment, 'exclusion ' || %(exclusions)s + %(people)s + place, '', at + interval '1 day'
FROM drawn WHERE mod(place, 20) = 1
UNION ALL
SELECT %(study)s, 'story_adjudicated', by_id, NULL, 'adjudication ' || id, '', at
FROM annotation_adjudication WHERE id > %(adjudications)s;

-- What the lint says of one story in seven, and who holds a story now.
INSERT INTO annotation_lintfinding (story_id, code, field, message)
SELECT id, (%(codes)s::text[])[1 + mod(id, cardinality(%(codes)s::text[]))], 'story', 'Read it once more.'
FROM annotation_story WHERE study_id = %(study)s AND role = 'main' AND id > %(stories)s AND mod(id, 7) = 0 ORDER BY id;

INSERT INTO annotation_assignment
    (id, story_id, enrollment_id, session_id, state, slot, slots, order_position, served_at, lease_expires_at)
SELECT %(assignments)s + (SELECT max(n) FROM given) + place, fresh.id, enrollment, %(sessions)s + v, 'leased', 1, 3, 10 * j + answers + 1, %(now)s, %(now)s::timestamptz + interval '30 minutes'
FROM (SELECT *, row_number() OVER (ORDER BY v) AS place FROM visit WHERE state = 'open' AND answers < 10) AS visit
JOIN (SELECT id, row_number() OVER (ORDER BY id) AS place FROM annotation_story
      WHERE study_id = %(study)s AND role = 'main' AND id > (SELECT max(story) FROM given WHERE checked IS NULL)) AS fresh USING (place);

UPDATE annotation_story SET has_free_slot = true
WHERE study_id = %(study)s AND role = 'main' AND id > %(stories)s
  AND (id > (SELECT max(story) FROM given WHERE checked IS NULL)
       OR id IN (SELECT story FROM given WHERE checked IS NULL AND state NOT IN ('submitted', 'pending'))
       OR id IN (SELECT story FROM given JOIN drawn USING (n) WHERE mod(place, 20) = 1));
