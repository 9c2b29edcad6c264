-- Invariant 10: rows that the log must have an event of. Each query gives their study, its type and its subject.

-- key_is_in_the_log (10)
-- Answer keys missing from the log.
SELECT r.study_id, k.id AS row,
       'answer_key_set' AS type, 'round ' || r.number || ' key ' || k.version AS subject
FROM qualification_answerkey k JOIN qualification_round r ON r.id = k.round_id;

-- import_is_in_the_log (10)
-- Finished imports missing from the log.
SELECT study_id, id AS row, 'import ' || id AS subject,
       CASE state WHEN 'imported' THEN 'stories_imported' ELSE 'import_refused' END AS type
FROM annotation_storyimport WHERE state IN ('imported', 'refused');

-- join_link_is_in_the_log (10)
-- Join links missing from the log.
SELECT study_id, id AS row, 'join_link_set' AS type, 'join link ' || id AS subject FROM recruitment_joinlink;

-- failed_check_is_in_the_log (10)
-- Votes that failed a hidden check, without an entry in the log.
SELECT v.study_id, v.id AS row, 'check_failed' AS type, 'vote ' || v.id AS subject
FROM votes v JOIN annotation_checkresult r ON r.vote_id = v.id AND NOT r.passed;

-- campaign_is_in_the_log (10)
-- Campaigns missing from the log.
SELECT c.study_id, c.id AS row, 'campaign_created' AS type, s.slug || '-' || c.number AS subject
FROM recruitment_campaign c JOIN annotation_study s ON s.id = c.study_id;

-- settled_mismatch_is_in_the_log (10)
-- Resolved mismatches with a platform that are missing from the log.
SELECT c.study_id, m.id AS row, 'platform_synced' AS type, m.kind || ' ' || m.id AS subject
FROM recruitment_mismatch m JOIN recruitment_campaign c ON c.id = m.campaign_id AND m.settled_at IS NOT NULL;

-- release_is_in_the_log (10)
-- Releases whose request or publication is missing from the log.
SELECT study_id, id AS row, type, 'release ' || number AS subject
FROM publishing_release r
JOIN (VALUES ('', 'release_requested'), ('published', 'release_published'))
    AS logged (state, type) ON logged.state IN ('', r.state);

-- exclusion_is_in_the_log (10)
-- Exclusions of votes missing from the log.
SELECT e.study_id, x.id AS row, 'exclusion ' || x.id AS subject,
       CASE WHEN x.assignment_id IS NULL THEN 'annotator_excluded' ELSE 'vote_excluded' END AS type
FROM annotation_voteexclusion x JOIN annotation_enrollment e ON e.id = x.enrollment_id;

-- lifted_exclusion_is_in_the_log (10)
-- Lifted exclusions whose end is missing from the log.
SELECT e.study_id, x.id AS row, 'exclusion ' || x.id AS subject,
       CASE WHEN x.assignment_id IS NULL THEN 'annotator_readmitted' ELSE 'vote_readmitted' END AS type
FROM annotation_voteexclusion x JOIN annotation_enrollment e ON e.id = x.enrollment_id
WHERE x.lifted_at IS NOT NULL;

-- spot_check_is_in_the_log (10)
-- Spot checks missing from the log.
SELECT v.study_id, c.id AS row, 'vote_checked' AS type, 'spot check ' || c.id AS subject
FROM annotation_spotcheck c JOIN votes v ON v.id = c.vote_id;

-- sample_is_in_the_log (10)
-- Review samples missing from the log.
SELECT study_id, id AS row, 'review_sample_drawn' AS type, 'sample ' || id AS subject
FROM annotation_reviewsample;

-- adjudication_is_in_the_log (10)
-- Adjudications missing from the log.
SELECT s.study_id, x.id AS row, 'story_adjudicated' AS type, 'adjudication ' || x.id AS subject
FROM annotation_adjudication x JOIN annotation_story s ON s.id = x.story_id;

-- revision_is_in_the_log (10)
-- Revisions of stories missing from the log.
SELECT s.study_id, r.id AS row, 'story_revised' AS type, s.story_id AS subject
FROM annotation_storyrevision r JOIN annotation_story s ON s.id = r.after_id;

-- every_skip_is_in_the_log (10)
-- Skips without their event in the log.
SELECT a.study_id, a.id AS row, 'story_skipped' AS type, 'assignment ' || a.id AS subject
FROM annotation_skip k JOIN assignments a ON a.id = k.assignment_id;
