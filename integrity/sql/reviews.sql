-- Invariants 3, 4, 6 and 10 for excluded, spot-checked and adjudicated votes.

-- excluded_vote_has_its_exclusion (6)
-- Assignments marked as excluded without a counted vote, or without a standing exclusion.
SELECT a.study_id, a.id AS row FROM assignments a
WHERE a.state = 'excluded' AND (
    NOT EXISTS (SELECT FROM annotation_vote v WHERE v.assignment_id = a.id AND v.surplus_reason = '')
    OR NOT EXISTS (SELECT FROM covered WHERE covered.assignment_id = a.id AND stands));

-- displaced_vote_was_excluded_once (3)
-- Assignments marked as having lost their slot during an exclusion, but never excluded.
SELECT a.study_id, a.id AS row FROM assignments a
WHERE a.state = 'displaced' AND (
    NOT EXISTS (SELECT FROM annotation_vote v WHERE v.assignment_id = a.id AND v.surplus_reason = '')
    OR NOT EXISTS (SELECT FROM taken_out WHERE taken_out.assignment_id = a.id AND NOT stands));

-- excluded_vote_does_not_count (6)
-- Assignments that count although their vote is excluded.
SELECT study_id, a.id AS row
FROM assignments a JOIN covered ON covered.assignment_id = a.id
WHERE a.state = 'submitted' AND covered.stands;

-- rejected_vote_does_not_count (6)
-- Assignments that count although the newest spot check rejected their vote.
SELECT a.study_id, a.id AS row
FROM (SELECT DISTINCT ON (v.assignment_id) v.assignment_id, c.decision
      FROM annotation_spotcheck c JOIN annotation_vote v ON v.id = c.vote_id
      ORDER BY v.assignment_id, c.id DESC) AS newest
JOIN assignments a ON a.id = newest.assignment_id
WHERE newest.decision <> 'accept' AND a.state = 'submitted';

-- excluded_people_are_not_served (4)
-- Enrollments that could be served stories although all their votes are excluded.
SELECT study_id, e.id AS row
FROM annotation_voteexclusion x JOIN annotation_enrollment e ON e.id = x.enrollment_id
WHERE x.assignment_id IS NULL AND x.lifted_at IS NULL AND e.state NOT IN ('suspended', 'withdrawn');

-- exclusion_is_of_its_authors_vote (6)
-- Exclusions of one annotator's vote that are recorded for another.
SELECT study_id, x.id AS row
FROM annotation_voteexclusion x JOIN assignments a ON a.id = x.assignment_id
WHERE a.enrollment_id <> x.enrollment_id;

-- old_version_is_revised_once (10)
-- Old versions without a revision, or revised stories that are not marked as old versions.
SELECT s.study_id, s.id AS row
FROM annotation_story s LEFT JOIN annotation_storyrevision r ON r.before_id = s.id
WHERE s.is_old_version <> (r.id IS NOT NULL);

-- versions_share_study_and_core (10)
-- Revisions whose versions differ in study or core, or have the same text.
SELECT old.study_id, old.id AS row
FROM annotation_storyrevision r
JOIN annotation_story old ON old.id = r.before_id
JOIN annotation_story new ON new.id = r.after_id
WHERE old.study_id <> new.study_id OR old.core_id <> new.core_id OR old.text_hash = new.text_hash;
