-- The visits' campaigns: of each platform one for the test, one with a quarter and one with the rest of the
-- stories' visits. Campaigns are given as an array: test, few, most, of Prolific and then of Mechanical Turk.
CREATE TEMP TABLE piece AS
SELECT v, luck, annotator, enrollment, platform, state, answers, 10 AS wanted, arrived, ended,
       CASE WHEN platform <> 'link' THEN (%(campaigns)s::bigint[])
            [CASE platform WHEN 'mturk' THEN 4 ELSE 1 END + CASE WHEN mod(j, 4) = 0 THEN 1 ELSE 2 END] END AS campaign
FROM visit
UNION ALL
SELECT %(visits)s * %(people)s + %(people)s + n, hashint8(n)::bigint & 2147483647, annotator, enrollment, platform,
       CASE platform WHEN 'link' THEN 'none' ELSE 'confirmed' END, 0, 0, came, came + interval '10 minutes',
       CASE WHEN platform <> 'link' THEN (%(campaigns)s::bigint[])[CASE platform WHEN 'mturk' THEN 4 ELSE 1 END] END
FROM person WHERE n <= %(tried)s;

-- Three people take the same HIT for stories; everything else is one posting.
ALTER TABLE piece ADD COLUMN posting int;
UPDATE piece SET posting = counted.posting
FROM (SELECT v, CASE WHEN platform = 'mturk' AND wanted > 0
                     THEN 1 + (row_number() OVER (PARTITION BY campaign ORDER BY arrived) - 1) / 3 ELSE 1 END AS posting
      FROM piece WHERE campaign IS NOT NULL) AS counted
WHERE counted.v = piece.v;
CREATE UNIQUE INDEX ON piece (v);
ANALYZE piece;

INSERT INTO recruitment_posting
    (campaign_id, number, state, seats, request_token, first_asked_at, remote_id, made_at, synced_at)
SELECT campaign, posting, 'made', CASE WHEN min(wanted) > 0 AND min(platform) = 'mturk' THEN 3 ELSE 30000 END,
       gen_random_uuid(), %(began)s, 'posting-' || campaign || '-' || posting, %(began)s, %(now)s
FROM piece WHERE campaign IS NOT NULL GROUP BY campaign, posting ORDER BY campaign, posting;

INSERT INTO annotation_worksession
    (id, enrollment_id, state, story_limit, stories_submitted, counts_unconfirmed, identity_claimed, framed,
     opened_at, expires_at, settled_at)
SELECT %(sessions)s + v, enrollment, state, wanted, answers, false, state <> 'confirmed', platform = 'mturk', arrived,
       arrived + interval '4 hours', CASE WHEN state <> 'open' THEN ended END
FROM piece WHERE campaign IS NOT NULL ORDER BY v;

INSERT INTO recruitment_visit
    (id, enrollment_id, platform, environment, arrived_at, campaign_id, posting_id, remote_id, session_id,
     submit_to, receipt, handed_in_at)
SELECT %(visit_rows)s + v, enrollment, platform, 'live', arrived, campaign, p.id,
       CASE WHEN campaign IS NULL THEN '' ELSE 'work-' || v END,
       CASE WHEN campaign IS NOT NULL THEN %(sessions)s + v END, '',
       CASE WHEN campaign IS NULL THEN '' ELSE 'receipt-' || v END,
       CASE WHEN piece.state = 'confirmed' OR piece.state = 'doubted' AND mod(luck, 200) = 13 THEN ended END
FROM piece LEFT JOIN recruitment_posting AS p ON p.campaign_id = campaign AND p.number = posting
ORDER BY v;

INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
SELECT %(study)s, 'visit_arrived', enrollment, 'visit ' || %(visit_rows)s + v, '', arrived FROM piece ORDER BY arrived;
INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
SELECT %(study)s, CASE state WHEN 'confirmed' THEN 'work_confirmed' ELSE 'work_doubted' END, enrollment,
       'work session ' || %(sessions)s + v, '', ended
FROM piece WHERE state IN ('confirmed', 'doubted') ORDER BY ended;

-- What the platforms say. A piece of work in fifty waits for a decision; some were decided there.
CREATE TEMP TABLE handed_in AS
SELECT piece.*, %(submissions)s + row_number() OVER (ORDER BY v) AS id, campaign.reward,
       CASE WHEN piece.state = 'open' THEN 'active'
            WHEN piece.state = 'doubted' THEN CASE WHEN mod(luck, 500) = 31 THEN 'rejected' WHEN mod(luck, 200) = 13 THEN 'timed_out' ELSE 'returned' END
            WHEN mod(luck, 50) = 21 OR mod(luck, 200) = 3 OR mod(luck, 300) = 17 OR answers < wanted AND mod(luck, 4) = 0 THEN 'submitted'
            ELSE 'approved' END AS status
FROM piece JOIN recruitment_campaign AS campaign ON campaign.id = campaign
WHERE piece.state <> 'open' OR piece.platform = 'prolific';

INSERT INTO recruitment_submission
    (id, campaign_id, posting_id, platform, environment, remote_id, annotator_id, visit_id, status, receipt,
     submitted_at)
SELECT h.id, campaign, p.id, platform, 'live', 'work-' || v, annotator, %(visit_rows)s + v, status, 'receipt-' || v,
       CASE WHEN status NOT IN ('active', 'timed_out', 'returned') THEN ended END
FROM handed_in AS h JOIN recruitment_posting AS p ON p.campaign_id = campaign AND p.number = posting
ORDER BY h.id;

-- Work of people of whom no visit is known, one in a thousand.
INSERT INTO recruitment_submission
    (id, campaign_id, posting_id, platform, environment, remote_id, annotator_id, status, receipt,
     submitted_at)
SELECT (SELECT max(id) FROM handed_in) + row_number() OVER (ORDER BY h.id), campaign, p.id, platform, 'live', 'stranger-' || v,
       annotator, 'submitted', '', ended
FROM handed_in AS h JOIN recruitment_posting AS p ON p.campaign_id = campaign AND p.number = posting
WHERE mod(luck, 1000) = 77 ORDER BY h.id;

INSERT INTO recruitment_grant
    (study_id, campaign_id, platform, environment, annotator_id, kind, state, tries, problem, requested_at, settled_at)
SELECT %(study)s, campaign, platform, 'live', annotator, 'qualified',
       CASE WHEN mod(luck, 100) = 5 THEN 'failed' ELSE 'done' END, 1,
       CASE WHEN mod(luck, 100) = 5 THEN 'The platform knows no such person.' ELSE '' END, ended, ended
FROM piece JOIN attempt USING (enrollment) WHERE wanted = 0 AND campaign IS NOT NULL AND passed ORDER BY v;
