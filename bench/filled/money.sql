-- Approvals of what is approved, refused and waiting ones, rejections, bonuses and top-ups.
CREATE TEMP TABLE payment AS
SELECT %(payments)s + row_number() OVER (ORDER BY ended, submission, kind) AS id, *
FROM (
    SELECT id AS submission, enrollment, ended, CASE status WHEN 'rejected' THEN 'rejection' ELSE 'approval' END AS kind,
           CASE WHEN status IN ('approved', 'rejected') THEN 'done' WHEN mod(luck, 200) = 3 THEN 'failed' ELSE 'requested' END AS state,
           CASE status WHEN 'rejected' THEN 0 ELSE reward END AS amount,
           CASE status WHEN 'rejected' THEN 'Nothing of this was read.' ELSE '' END AS reason
    FROM handed_in
    WHERE status = 'rejected' OR status = 'approved' AND mod(luck, 400) <> 19
       OR status = 'submitted' AND mod(luck, 50) <> 21 AND (mod(luck, 200) = 3 OR mod(luck, 300) = 17)
    UNION ALL
    SELECT id, enrollment, ended, kind, 'done', 0.35, 'The work took longer than we had thought.'
    FROM handed_in, unnest(ARRAY['bonus', 'top_up']) AS kind
    WHERE status = 'approved' AND mod(luck, 400) <> 19 AND wanted > 0
      AND (kind = 'bonus' AND mod(luck, 50) = 11 OR kind = 'top_up' AND mod(luck, 2) = 0 AND platform = 'prolific')
) AS wanted;

INSERT INTO recruitment_payment
    (id, submission_id, kind, state, amount, currency, reason, category, request_token, remote_id, tries, next_try_at,
     problem, requested_at, first_sent_at, settled_at)
SELECT id, submission, kind, state, amount, 'USD', reason, '', gen_random_uuid(), '', 1,
       CASE state WHEN 'requested' THEN %(now)s::timestamptz + interval '1 hour' END,
       CASE state WHEN 'failed' THEN 'The platform refused it.' WHEN 'requested' THEN 'Not enough money.' ELSE '' END,
       ended, CASE WHEN state <> 'requested' THEN ended END, CASE WHEN state <> 'requested' THEN ended END
FROM payment ORDER BY id;

INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
SELECT %(study)s, type, enrollment, kind || ' ' || id || ' of ' || amount || ' USD', '', ended
FROM payment, unnest(ARRAY['payment_requested', CASE state WHEN 'done' THEN 'payment_sent' WHEN 'failed' THEN 'payment_failed' END]) AS type
WHERE type IS NOT NULL ORDER BY id;

-- What is not agreed on with the platforms; half of it has been dealt with.
INSERT INTO recruitment_mismatch
    (id, campaign_id, kind, visit_id, submission_id, noticed_at, settled_at, settled_by_id, settled_how)
SELECT %(mismatches)s + row_number() OVER (ORDER BY submission), campaign, kind, visit, submission, at,
       CASE WHEN mod(submission, 2) = 0 THEN at END, CASE WHEN mod(submission, 2) = 0 THEN %(owner)s END,
       CASE WHEN mod(submission, 2) = 0 THEN 'Settled by mail.' ELSE '' END
FROM (
    SELECT campaign, CASE WHEN status = 'timed_out' THEN 'not_handed_in' WHEN answers < wanted THEN 'partial'
                          ELSE 'decided_by_platform' END AS kind,
           %(visit_rows)s + v AS visit, id AS submission, ended AS at
    FROM handed_in
    WHERE status = 'timed_out' OR state = 'confirmed' AND answers < wanted OR status = 'approved' AND mod(luck, 400) = 19
    UNION ALL
    SELECT campaign_id, 'no_data', NULL, id, submitted_at FROM recruitment_submission WHERE visit_id IS NULL
) AS noticed;
INSERT INTO annotation_event (study_id, type, actor_id, subject, note, at)
SELECT %(study)s, 'platform_synced', settled_by_id, kind || ' ' || id, settled_how, settled_at
FROM recruitment_mismatch WHERE settled_at IS NOT NULL ORDER BY id;
