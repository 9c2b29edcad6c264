-- Invariant 1: a story's slots and their holders.

-- story_has_no_more_votes_than_wanted (1)
-- Stories with more counted votes than they should get.
SELECT study_id, story_id AS row FROM counted
GROUP BY study_id, story_id, votes_wanted HAVING count(*) > votes_wanted;

-- nobody_counts_twice_on_a_story (1)
-- Stories on which one annotator has several counted votes.
SELECT study_id, story_id AS row FROM counted
GROUP BY study_id, story_id, annotator_id HAVING count(*) > 1;

-- story_has_no_more_holders_than_slots (1)
-- Stories with more holders than slots.
SELECT study_id, id AS row
FROM held
WHERE holders > votes_wanted;

-- every_slot_has_one_holder (1)
-- Stories with a slot that has two holders, or that does not exist.
SELECT study_id, story_id AS row FROM assignments
WHERE state IN ('reserved', 'leased', 'submitted', 'pending') AND slot IS NOT NULL
GROUP BY study_id, story_id
HAVING count(*) > count(DISTINCT slot) OR min(slot) < 1 OR bool_or(slot > slots);

-- story_with_a_free_slot_is_offered (1)
-- Stories that have a free slot but are marked full, so nobody is served them.
SELECT study_id, id AS row
FROM held
WHERE holders < votes_wanted AND NOT has_free_slot AND role = 'main' AND NOT is_old_version;

-- full_story_is_not_offered (1)
-- Stories that are full but marked as having a free slot.
SELECT study_id, id AS row
FROM held
WHERE holders >= votes_wanted AND has_free_slot;

-- nobody_has_more_than_their_load (1)
-- Enrollments with more items of a stratum than the design gives each annotator.
SELECT enrolled_in AS study_id, enrollment_id AS row
FROM assignments
WHERE state IN ('reserved', 'leased', 'submitted', 'pending') AND stratum_id IS NOT NULL
GROUP BY enrolled_in, enrollment_id, stratum_id HAVING count(*) > min(load);

-- assignment_is_in_the_stratum_of_its_item (1)
-- Assignments in a stratum that their item does not belong to.
SELECT a.study_id, a.id AS row
FROM assignments a
JOIN annotation_stratum g ON g.id = a.stratum_id
JOIN annotation_study st ON st.id = a.study_id
JOIN annotation_story s ON s.id = a.story_id
WHERE g.study_id <> a.study_id OR g.name IS DISTINCT FROM to_jsonb(s) ->> st.stratum_field;

-- nobody_holds_two_stories (1)
-- Enrollments that hold more than one story at a time.
SELECT enrolled_in AS study_id, enrollment_id AS row
FROM assignments
WHERE state = 'leased' GROUP BY enrolled_in, enrollment_id HAVING count(*) > 1;

-- one_assignment_per_person_and_story (1)
-- Stories that were given to one annotator as several assignments.
SELECT study_id, story_id AS row
FROM assignments
GROUP BY study_id, story_id, annotator_id HAVING count(*) > 1;

-- assignment_stays_in_its_study (1)
-- Assignments of a story of one study to an enrollment of another.
SELECT study_id, id AS row
FROM assignments
WHERE study_id <> enrolled_in;

-- given_story_is_looked_for (1)
-- Stories that wait for somebody by name whom serving would not give them first, or who gets no stories.
SELECT a.study_id, a.id AS row
FROM assignments a JOIN annotation_enrollment e ON e.id = a.enrollment_id
WHERE a.given AND a.state = 'reserved' AND (NOT e.given_items OR e.state IN ('declined', 'failed', 'suspended', 'withdrawn'));

-- nothing_is_given_by_name_in_a_design (1)
-- Stories given by name in a study whose design decides who gets which.
SELECT a.study_id, a.id AS row
FROM assignments a JOIN annotation_study st ON st.id = a.study_id
WHERE a.given AND st.stratum_field <> '';
