-- What checks may select from besides tables.

-- assignments
-- Assignments with their study and with what they are compared with.
SELECT a.*, s.study_id, s.role, s.content_hash, st.votes_per_story + s.extra_votes AS votes_wanted, st.story_cap,
       st.protocol_version AS study_protocol, st.environment AS study_environment,
       e.study_id AS enrolled_in, e.annotator_id, e.environment AS enrolled_environment
FROM annotation_assignment a
JOIN annotation_story s ON s.id = a.story_id
JOIN annotation_study st ON st.id = s.study_id
JOIN annotation_enrollment e ON e.id = a.enrollment_id;

-- votes
-- Votes of every revision, with what is known of their assignment.
SELECT v.*, a.state, a.story_id, a.enrollment_id, a.study_id, a.role, a.content_hash,
       a.votes_wanted, a.study_protocol, a.study_environment, a.annotator_id
FROM annotation_vote v JOIN assignments a ON a.id = v.assignment_id;

-- newest
-- The last revision of each assignment's votes.
SELECT DISTINCT ON (assignment_id) assignment_id, id, surplus_reason
FROM annotation_vote ORDER BY assignment_id, revision DESC;

-- changes
-- Votes that replaced another, with the one they replaced.
SELECT newer.*, older.id AS older_id, older.environment AS older_environment,
       older.surplus_reason AS older_reason, older.submitted_at AS older_submitted_at,
       older.first_submitted_at AS older_first_submitted_at
FROM votes newer JOIN annotation_vote older
    ON older.assignment_id = newer.assignment_id AND older.revision = newer.revision - 1;

-- counted
-- Votes that count for a story.
SELECT * FROM votes
WHERE role = 'main' AND state = 'submitted' AND surplus_reason = '' AND environment = study_environment
  AND NOT EXISTS (SELECT FROM annotation_vote newer
                  WHERE newer.assignment_id = votes.assignment_id AND newer.revision > votes.revision);

-- held
-- Stories with the number of assignments that hold one of their slots.
SELECT s.*, st.votes_per_story + s.extra_votes AS votes_wanted, count(a.slot) AS holders
FROM annotation_story s
JOIN annotation_study st ON st.id = s.study_id
LEFT JOIN annotation_assignment a ON a.story_id = s.id AND a.state IN ('reserved', 'leased', 'submitted', 'pending')
GROUP BY s.id, st.id;

-- covered
-- Every exclusion with every assignment that it covers.
SELECT x.id, a.id AS assignment_id, x.lifted_at IS NULL AS stands
FROM annotation_voteexclusion x
JOIN annotation_assignment a
    ON a.enrollment_id = x.enrollment_id AND (x.assignment_id IS NULL OR x.assignment_id = a.id);

-- taken_out
-- Exclusions as above, and every assignment whose visit the platform did not confirm at first.
SELECT id, assignment_id, stands FROM covered
UNION ALL
SELECT ev.id, a.id, false
FROM annotation_assignment a
JOIN annotation_event ev ON ev.type = 'work_doubted' AND ev.enrollment_id = a.enrollment_id
    AND ev.subject = 'work session ' || a.session_id;

-- fixed
-- The times until which answers were frozen for a release that was then published.
SELECT study_id, at FROM (
    SELECT study_id, at, type,
           lead(type) OVER (PARTITION BY study_id ORDER BY id) AS followed_by
    FROM annotation_event WHERE type IN ('answers_frozen', 'answers_thawed')
) moment
WHERE type = 'answers_frozen' AND followed_by IS DISTINCT FROM 'answers_thawed';

-- payments
-- Payments with the study and the reward of their campaign: for a test not passed, its own where there is one.
SELECT c.study_id, p.*,
       CASE WHEN s.status = 'screened_out' THEN coalesce(c.screen_out_reward, c.reward) ELSE c.reward END AS reward
FROM recruitment_payment p
JOIN recruitment_submission s ON s.id = p.submission_id
JOIN recruitment_campaign c ON c.id = s.campaign_id;

-- said
-- What the log says of payments, by their kind and id.
SELECT study_id, type, split_part(subject, ' ', 1) || ' ' || split_part(subject, ' ', 2) AS about
FROM annotation_event
WHERE type IN ('payment_requested', 'payment_sent', 'payment_failed');
