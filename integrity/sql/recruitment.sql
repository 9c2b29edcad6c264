-- Invariants 2, 3, 4, 9 and 10 for campaigns: work sessions, payments, and mismatches.

-- session_is_of_a_visit (4)
-- Work sessions without a campaign visit, or whose visit belongs to another person or study.
SELECT e.study_id, w.id AS row
FROM annotation_worksession w
JOIN annotation_enrollment e ON e.id = w.enrollment_id
LEFT JOIN recruitment_visit v ON v.session_id = w.id
LEFT JOIN recruitment_campaign c ON c.id = v.campaign_id
LEFT JOIN recruitment_posting p ON p.id = v.posting_id
WHERE v.enrollment_id IS DISTINCT FROM e.id OR c.study_id IS DISTINCT FROM e.study_id
   OR p.campaign_id IS DISTINCT FROM c.id;

-- session_counts_its_votes (2)
-- Work sessions whose number of stories differs from their votes and credited skips.
SELECT e.study_id, w.id AS row
FROM annotation_worksession w
JOIN annotation_enrollment e ON e.id = w.enrollment_id
WHERE w.stories_submitted <> (
    SELECT count(*) FROM annotation_assignment a
    LEFT JOIN annotation_vote v ON v.assignment_id = a.id AND v.revision = 1
    LEFT JOIN annotation_skip k ON k.assignment_id = a.id AND a.state = 'skipped' AND k.credited
    WHERE a.session_id = w.id AND (v.id IS NOT NULL OR k.assignment_id IS NOT NULL));

-- work_is_decided_once (3)
-- Submissions that were approved, rejected or topped up more than once.
SELECT study_id, submission_id AS row
FROM payments WHERE kind NOT IN ('bonus', 'outside') AND state NOT IN ('failed', 'withdrawn')
GROUP BY study_id, submission_id, decided_by_platform,
         CASE WHEN kind IN ('top_up', 'overturn') THEN kind END
HAVING count(*) > 1;

-- payment_is_of_its_amount (3)
-- Approvals whose amount is not the reward, rejections that pay, and bonuses of zero.
SELECT study_id, id AS row
FROM payments
WHERE kind IN ('approval', 'overturn') AND amount <> reward
   OR kind = 'rejection' AND amount <> 0
   OR kind IN ('bonus', 'top_up', 'outside') AND amount <= 0;

-- payment_is_settled_when_it_was_sent (3)
-- Payments whose state and settlement time disagree, or that are done but were never sent.
SELECT study_id, id AS row
FROM payments
WHERE (state IN ('done', 'failed', 'withdrawn')) <> (settled_at IS NOT NULL)
   OR state = 'done' AND kind <> 'outside' AND NOT decided_by_platform
      AND (tries = 0 OR first_sent_at IS NULL);

-- platforms_work_is_of_its_environment (9)
-- Campaigns, submissions and groups in the wrong environment or on the wrong platform.
SELECT c.study_id, c.id AS row
FROM recruitment_campaign c JOIN annotation_study st ON st.id = c.study_id
WHERE c.environment <> st.environment
UNION ALL
SELECT c.study_id, s.id AS row
FROM recruitment_submission s JOIN recruitment_campaign c ON c.id = s.campaign_id
WHERE s.environment <> c.environment OR s.platform <> c.platform
UNION ALL
SELECT c.study_id, g.id AS row
FROM recruitment_grant g JOIN recruitment_campaign c ON c.id = g.campaign_id
WHERE g.environment <> c.environment OR g.platform <> c.platform OR g.study_id <> c.study_id;

-- payment_is_in_the_log (10)
-- Payments whose request or end is missing from the log.
SELECT p.study_id, p.id AS row
FROM payments p
WHERE NOT EXISTS (SELECT FROM said
                  WHERE said.study_id = p.study_id AND said.about = p.kind || ' ' || p.id
                    AND said.type = 'payment_requested')
   OR p.state IN ('done', 'failed', 'withdrawn') AND NOT EXISTS (
        SELECT FROM said
        WHERE said.study_id = p.study_id AND said.about = p.kind || ' ' || p.id
          AND said.type = CASE p.state WHEN 'done' THEN 'payment_sent' ELSE 'payment_failed' END);
