-- Invariants 7, 8 and 10 for releases: published files never change and identify nobody.

-- withdrawal_is_of_a_published_release_and_says_why (7)
-- Withdrawals of unpublished releases, dated before the publication, or without a reason.
SELECT study_id, r.id AS row
FROM publishing_withdrawal w JOIN publishing_release r ON r.id = w.release_id
WHERE r.state <> 'published' OR w.withdrawn_at < r.published_at OR w.reason = '';

-- withdrawal_is_in_the_log (10)
-- Releases that are withdrawn but not in the log, or the other way round.
SELECT r.study_id, r.id AS row
FROM publishing_release r LEFT JOIN publishing_withdrawal w ON w.release_id = r.id
WHERE (w.id IS NOT NULL) <> EXISTS (
    SELECT 1 FROM annotation_event ev
    WHERE ev.study_id = r.study_id AND ev.type = 'release_withdrawn'
      AND ev.subject = 'release ' || r.number);
