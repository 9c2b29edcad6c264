-- Invariant 10: every change of state is in the log. Other modules check it for their own subjects.

-- vote_is_in_the_log (10)
-- Votes missing from the log.
SELECT v.study_id, v.id AS row
FROM votes v
LEFT JOIN annotation_event ev ON ev.study_id = v.study_id
    AND ev.type = CASE v.revision WHEN 1 THEN 'vote_submitted' ELSE 'vote_changed' END
    AND ev.enrollment_id = v.enrollment_id AND ev.subject = 'vote ' || v.id
WHERE ev.id IS NULL;

-- standing_is_in_the_log (10)
-- Enrollments whose state the log does not record.
SELECT e.study_id, e.id AS row
FROM annotation_enrollment e
JOIN (VALUES ('consented', 'consent_given'), ('declined', 'consent_declined'),
             ('qualified', 'enrollment_qualified'), ('failed', 'enrollment_failed'),
             ('suspended', 'enrollment_suspended'),
             ('withdrawn', 'enrollment_withdrawn')) AS logged (state, type)
    ON logged.state = e.state
WHERE NOT EXISTS (SELECT 1 FROM annotation_event ev
                  WHERE ev.enrollment_id = e.id AND ev.type = logged.type);

-- state_of_the_study_is_in_the_log (10)
-- Studies whose state differs from the last one in the log.
SELECT st.id AS study_id, st.id AS row
FROM annotation_study st
LEFT JOIN LATERAL (
    SELECT substr(ev.type, 7) AS state FROM annotation_event ev
    WHERE ev.study_id = st.id AND ev.type IN ('study_opened', 'study_paused', 'study_closed')
    ORDER BY ev.id DESC LIMIT 1
) moved ON true
WHERE st.state <> CASE coalesce(moved.state, '') WHEN '' THEN 'draft'
                       WHEN 'opened' THEN 'open' ELSE moved.state END;

-- attempt_is_in_the_log (10)
-- Qualification attempts whose start or submission is missing from the log.
SELECT s.study_id, x.id AS row
FROM qualification_attempt x JOIN annotation_enrollment s ON s.id = x.enrollment_id
JOIN (VALUES ('', 'attempt_started'), ('submitted', 'attempt_submitted'))
    AS logged (state, type) ON logged.state IN ('', x.state)
WHERE NOT EXISTS (
    SELECT FROM annotation_event ev
    WHERE ev.study_id = s.study_id AND ev.type = logged.type AND ev.subject = 'attempt ' || x.id
      AND ev.enrollment_id = x.enrollment_id);

-- revoked_link_is_in_the_log (10)
-- Enrollments whose links were revoked more or fewer times than the log records.
SELECT study_id, id AS row
FROM annotation_enrollment e
WHERE e.link_version - 1 <> (
    SELECT count(*) FROM annotation_event ev
    WHERE ev.enrollment_id = e.id AND ev.type = 'link_revoked');

-- confirmed_address_is_in_the_log (10)
-- Confirmed e-mail addresses whose confirmation is missing from the log.
SELECT NULL::bigint AS study_id, p.id AS row
FROM accounts_platformidentity p
WHERE p.confirmed_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM annotation_event ev
                  JOIN annotation_enrollment e ON e.id = ev.enrollment_id
                  WHERE e.annotator_id = p.annotator_id AND ev.type = 'address_confirmed');

-- visit_is_in_the_log (10)
-- Visits missing from the log.
SELECT s.study_id, x.id AS row
FROM recruitment_visit x JOIN annotation_enrollment s ON s.id = x.enrollment_id
WHERE NOT EXISTS (
    SELECT FROM annotation_event ev
    WHERE ev.study_id = s.study_id AND ev.type = 'visit_arrived' AND ev.subject = 'visit ' || x.id
      AND ev.enrollment_id = x.enrollment_id);

-- plan_is_in_the_log (10)
-- Plans whose hash the log does not record.
SELECT p.study_id, p.id AS row
FROM publishing_studyplan p
WHERE NOT EXISTS (SELECT 1 FROM annotation_event ev
                  WHERE ev.study_id = p.study_id AND ev.type = 'plan_fixed' AND ev.note = 'SHA-256 ' || p.sha256);

-- plan_has_its_hash (10)
-- Plans that are not what was hashed.
SELECT p.study_id, p.id AS row
FROM publishing_studyplan p
WHERE p.sha256 <> encode(sha256(convert_to(p.document, 'UTF8')), 'hex');
