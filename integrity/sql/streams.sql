-- What checks in Python read from many rows. The parameter study is the id of one, or null for all.

-- answers_of_votes
-- Every vote with its study's protocol, its story, and its answers by form field.
SELECT v.id, st.protocol_name, st.protocol_version, s.content,
       count(an.id),
       jsonb_object_agg(an.question || CASE WHEN an.row = '' THEN '' ELSE '.' || an.row END,
                        an.words || an.option)
           FILTER (WHERE an.id IS NOT NULL)
FROM annotation_vote v
JOIN annotation_assignment a ON a.id = v.assignment_id
JOIN annotation_story s ON s.id = a.story_id
JOIN annotation_study st ON st.id = s.study_id
LEFT JOIN annotation_answer an ON an.vote_id = v.id
WHERE %(study)s::bigint IS NULL OR s.study_id = %(study)s
GROUP BY v.id, s.id, st.id ORDER BY v.id;

-- results_of_checks
-- Every result of a hidden check with the answers that it grades.
SELECT r.vote_id, r.key_id, r.passed, array_agg(ARRAY[an.question, an.row, an.option])
FROM annotation_checkresult r
JOIN annotation_checkkey k ON k.id = r.key_id
JOIN annotation_story s ON s.id = k.story_id
JOIN annotation_answer an ON an.vote_id = r.vote_id
WHERE %(study)s::bigint IS NULL OR s.study_id = %(study)s
GROUP BY r.vote_id ORDER BY r.vote_id;
