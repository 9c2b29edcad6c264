wrong AS (
    SELECT a.attempt_id, count(*) FILTER (WHERE NOT a.accepted) AS number
    FROM qualification_attemptanswer a JOIN handed_in h ON h.id = a.attempt_id GROUP BY a.attempt_id
)
SELECT h.round_id, s.story_id, rs.position, a.question, a.row,
       count(*), count(*) FILTER (WHERE a.accepted),
       count(*) FILTER (WHERE NOT a.accepted AND NOT h.passed AND wrong.number = 1),
       count(*) FILTER (WHERE NOT h.late), count(*) FILTER (WHERE NOT h.late AND a.accepted),
       count(*) FILTER (WHERE h.late), count(*) FILTER (WHERE h.late AND a.accepted)
FROM qualification_attemptanswer a
JOIN handed_in h ON h.id = a.attempt_id
JOIN wrong ON wrong.attempt_id = a.attempt_id
JOIN qualification_roundstory rs ON rs.id = a.round_story_id
JOIN annotation_story s ON s.id = rs.story_id
GROUP BY h.round_id, s.story_id, rs.position, a.question, a.row
