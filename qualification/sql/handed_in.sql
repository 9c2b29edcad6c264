-- Begins questions.sql and paces.sql. first_tries: submitted first attempts in the study and its environment, one
-- per annotator. handed_in: with their half of the last look, by submission time; none for those after the look.
WITH first_tries AS (
    SELECT t.id, t.round_id, t.passed,
           extract(epoch FROM t.submitted_at - t.started_at)::float8 AS seconds,
           row_number() OVER (PARTITION BY t.round_id ORDER BY t.submitted_at, t.id) AS place
    FROM qualification_attempt t
    JOIN qualification_round r ON r.id = t.round_id
    JOIN annotation_enrollment e ON e.id = t.enrollment_id
    WHERE r.study_id = %(study)s AND e.environment = %(environment)s AND t.state = 'submitted'
      AND t.number = 1
),
handed_in AS (
    SELECT t.*, t.place > look.number / 2 AS late
    FROM first_tries t
    LEFT JOIN (SELECT * FROM unnest(%(rounds)s::bigint[], %(looks)s::bigint[])) AS look (round_id, number)
        ON look.round_id = t.round_id AND t.place <= look.number
),
