-- Invariants 2, 3, 6, 7 and 8 for votes, their changes, and skips: complete, credited, unchanged.

-- counted_assignment_has_its_vote (2)
-- Assignments marked as submitted that have no counted vote.
SELECT study_id, a.id AS row
FROM assignments a LEFT JOIN newest v ON v.assignment_id = a.id
WHERE a.state = 'submitted' AND (v.id IS NULL OR v.surplus_reason <> '');

-- surplus_assignment_has_its_vote (3)
-- Assignments marked as surplus that have no vote with a reason for being surplus.
SELECT study_id, a.id AS row
FROM assignments a LEFT JOIN newest v ON v.assignment_id = a.id
WHERE a.state = 'surplus' AND (v.id IS NULL OR v.surplus_reason = '');

-- vote_stands_on_an_answered_assignment (2)
-- Votes whose assignment is still marked as reserved, leased, expired or skipped.
SELECT study_id, id AS row
FROM votes
WHERE state IN ('reserved', 'leased', 'expired', 'skipped');

-- every_vote_is_credited (3)
-- Enrollments whose number of credited stories differs from those answered, or skipped with credit.
SELECT e.study_id, e.id AS row
FROM annotation_enrollment e
LEFT JOIN annotation_assignment a ON a.enrollment_id = e.id
    AND (EXISTS (SELECT 1 FROM annotation_vote v WHERE v.assignment_id = a.id)
         OR a.state = 'skipped' AND EXISTS (
             SELECT 1 FROM annotation_skip k WHERE k.assignment_id = a.id AND k.credited))
GROUP BY e.id HAVING e.stories_submitted <> count(a.id);

-- vote_is_about_the_story_as_it_stands (6)
-- Votes on a different content than the story's.
SELECT study_id, id AS row
FROM votes
WHERE story_hash <> content_hash;

-- vote_is_under_its_studys_protocol (6)
-- Votes under a different version of the protocol than the study's.
SELECT study_id, id AS row
FROM votes
WHERE protocol_version <> study_protocol;

-- vote_remembers_how_it_was_served (6)
-- Votes whose position, seeds or serving time differ from the assignment's.
SELECT study_id, v.id AS row
FROM votes v JOIN annotation_assignment a ON a.id = v.assignment_id
WHERE v.order_position <> a.order_position
   OR v.served_at <> a.served_at
   OR (v.order_seed, v.option_seed) IS DISTINCT FROM (a.order_seed, a.option_seed);

-- votes_count_as_their_visit_allows (3)
-- Assignments whose state does not fit that of their work session.
SELECT study_id, a.id AS row
FROM assignments a LEFT JOIN annotation_worksession w ON w.id = a.session_id
WHERE a.state = 'pending' AND w.state IS DISTINCT FROM 'open'
   OR a.state = 'doubted' AND w.state IS DISTINCT FROM 'doubted'
   OR a.state = 'submitted' AND (
       w.state = 'doubted' OR w.state = 'open' AND NOT w.counts_unconfirmed);

-- revisions_count_from_one_without_gaps (6)
-- Assignments whose votes are not revisions 1, 2, 3 and so on.
SELECT study_id, assignment_id AS row FROM votes GROUP BY study_id, assignment_id
HAVING min(revision) <> 1 OR max(revision) <> count(*) OR count(DISTINCT revision) <> count(*);

-- changed_vote_keeps_its_context (6)
-- Changed votes that are older than the vote they replace, or differ from it in the time of the first
-- answer, the environment or the reason for being surplus.
SELECT study_id, id AS row
FROM changes
WHERE (first_submitted_at, environment, surplus_reason)
      <> (older_first_submitted_at, older_environment, older_reason)
   OR submitted_at < older_submitted_at;

-- first_vote_is_its_own_first_answer (6)
-- First votes whose first submission time differs from their submission time.
SELECT study_id, id AS row
FROM votes
WHERE revision = 1 AND first_submitted_at <> submitted_at;

-- published_answer_is_not_replaced (7)
-- Votes that were replaced after answers had been frozen for a release.
SELECT study_id, older_id AS row
FROM changes JOIN fixed USING (study_id)
WHERE fixed.at >= older_submitted_at AND fixed.at < submitted_at;

-- skipped_assignment_has_its_skip (3)
-- Assignments marked as skipped without a skip, or with a skip but neither skipped nor voted on.
SELECT study_id, a.id AS row
FROM assignments a LEFT JOIN annotation_skip k ON k.assignment_id = a.id
WHERE (a.state = 'skipped') <> (k.assignment_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM annotation_vote v WHERE v.assignment_id = a.id));

-- every_skip_is_counted (3)
-- Enrollments whose number of skips differs from their skipped assignments.
SELECT e.study_id, e.id AS row
FROM annotation_enrollment e
LEFT JOIN annotation_assignment a ON a.enrollment_id = e.id AND a.state = 'skipped'
GROUP BY e.id HAVING e.stories_skipped <> count(a.id);

-- forgotten_people_leave_no_words (8)
-- Erased annotators whose comments or words about skipped stories are still stored.
SELECT a.enrolled_in AS study_id, a.id AS row
FROM assignments a
JOIN accounts_annotator p ON p.id = a.annotator_id AND p.erased_at IS NOT NULL
LEFT JOIN annotation_skip k ON k.assignment_id = a.id
LEFT JOIN annotation_vote v ON v.assignment_id = a.id
LEFT JOIN annotation_comment c ON c.vote_id = v.id
WHERE k.words <> '' OR c.words <> '';
