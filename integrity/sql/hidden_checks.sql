-- Invariants 1, 2, 7 and 10 for hidden checks.

-- only_main_stories_have_slots (1)
-- Assignments of a hidden check that have a slot, or of other stories that have none.
SELECT study_id, id AS row
FROM assignments
WHERE (role = 'check') <> (slot IS NULL);

-- answer_to_a_check_is_graded (2)
-- Votes on a hidden check that its key did not grade, or graded votes on other stories.
SELECT v.study_id, v.id AS row
FROM votes v
LEFT JOIN annotation_checkresult r ON r.vote_id = v.id
LEFT JOIN annotation_checkkey k ON k.id = r.key_id
WHERE (v.role = 'check' OR r.vote_id IS NOT NULL) AND k.story_id IS DISTINCT FROM v.story_id;

-- warning_is_in_the_log (10)
-- Enrollments that were warned about failed checks, without an entry in the log.
SELECT study_id, id AS row
FROM annotation_enrollment e
WHERE e.warned_after IS NOT NULL AND NOT EXISTS (
    SELECT FROM annotation_event ev
    WHERE ev.enrollment_id = e.id AND ev.type = 'annotator_warned');
