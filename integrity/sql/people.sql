-- Invariants 4, 5, 8 and 9 for people: access, identities, and live data apart from test runs.

-- vote_comes_with_consent (4)
-- Votes by annotators who have not agreed to a consent text of the study.
SELECT v.study_id, v.id AS row
FROM votes v
JOIN annotation_enrollment e ON e.id = v.enrollment_id
LEFT JOIN annotation_consenttext c ON c.id = e.consent_id
WHERE c.id IS NULL OR c.study_id <> e.study_id
   OR NOT EXISTS (SELECT 1 FROM annotation_event ev
                  WHERE ev.enrollment_id = e.id AND ev.type = 'consent_given');

-- vote_comes_from_somebody_who_qualified (4)
-- Votes by annotators who never qualified, according to the log.
SELECT study_id, id AS row
FROM votes
WHERE NOT EXISTS (
    SELECT FROM annotation_event ev
    WHERE ev.enrollment_id = votes.enrollment_id AND ev.type = 'enrollment_qualified');

-- only_the_admitted_take_part (4)
-- Annotators who joined a study that excludes them, or that requires a qualification they lack.
SELECT e.study_id, e.id AS row
FROM annotation_enrollment e
JOIN annotation_exclusion x ON x.study_id = e.study_id AND x.annotator_id = e.annotator_id
WHERE e.consent_id IS NOT NULL
UNION ALL
SELECT e.study_id, e.id AS row
FROM annotation_enrollment e
JOIN annotation_study s ON s.id = e.study_id
WHERE s.qualified_through_id IS NOT NULL AND e.consent_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM annotation_enrollment there
                  JOIN annotation_event ev ON ev.enrollment_id = there.id
                  WHERE there.study_id = s.qualified_through_id
                    AND there.annotator_id = e.annotator_id AND ev.type = 'enrollment_qualified');

-- nobody_is_served_past_the_cap (4)
-- Assignments given to an annotator who had reached the study's cap.
SELECT study_id, id AS row
FROM assignments
WHERE order_position > story_cap;

-- erased_people_leave_no_identity (8)
-- Erased annotators whose identity on a platform is still stored.
SELECT NULL::bigint AS study_id, an.id AS row
FROM accounts_annotator an JOIN accounts_platformidentity p ON p.annotator_id = an.id
WHERE an.erased_at IS NOT NULL;

-- forgotten_people_have_no_link (8)
-- Enrollments of erased annotators whose personal links still work.
SELECT study_id, e.id AS row
FROM annotation_enrollment e JOIN accounts_annotator an ON an.id = e.annotator_id
WHERE an.erased_at IS NOT NULL AND e.link_version = 1;

-- platform_ids_stay_in_their_table (8)
-- Events that contain an annotator's platform id.
SELECT ev.study_id, ev.id AS row
FROM annotation_event ev
JOIN annotation_enrollment e ON e.id = ev.enrollment_id
JOIN LATERAL (
    -- An id from a join link is stored after the name of its source.
    SELECT CASE platform WHEN 'link' THEN substr(person, strpos(person, '/') + 1) ELSE person END
        AS id
    FROM accounts_platformidentity i WHERE i.annotator_id = e.annotator_id
) p ON true
WHERE length(p.id) >= 6 AND strpos(ev.subject || ' ' || ev.note, p.id) > 0;

-- one_person_per_confirmed_identity (5)
-- Platform ids and confirmed e-mail addresses that belong to several annotators.
SELECT NULL::bigint AS study_id, min(p.id) AS row
FROM accounts_platformidentity p
WHERE p.platform <> 'email' OR p.confirmed_at IS NOT NULL
GROUP BY p.platform, p.environment, p.person HAVING count(DISTINCT p.annotator_id) > 1;

-- suspended_person_is_told_why (4)
-- Enrollments suspended without a reason, or with a reason but not suspended.
SELECT study_id, id AS row
FROM annotation_enrollment
WHERE (state = 'suspended') = (suspension_reason = '');

-- visit_is_of_the_persons_environment (9)
-- Visits whose environment differs from the enrollment's.
SELECT study_id, v.id AS row
FROM recruitment_visit v JOIN annotation_enrollment e ON e.id = v.enrollment_id
WHERE v.environment <> e.environment;

-- served_only_in_the_studys_environment (9)
-- Assignments whose enrollment is of another environment than the study.
SELECT study_id, id AS row
FROM assignments
WHERE enrolled_environment <> study_environment;

-- counted_vote_is_of_the_studys_environment (9)
-- Votes that hold a slot but belong to another environment than the study.
SELECT study_id, id AS row
FROM votes
WHERE state = 'submitted' AND environment <> study_environment;
