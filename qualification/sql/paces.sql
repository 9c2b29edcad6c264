median AS (
    SELECT round_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds
    FROM handed_in WHERE late IS NOT NULL GROUP BY round_id
)
SELECT h.round_id, h.late, count(*), count(*) FILTER (WHERE h.passed),
       count(*) FILTER (WHERE h.seconds < median.seconds),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY h.seconds)
FROM handed_in h JOIN median ON median.round_id = h.round_id
WHERE h.late IS NOT NULL
GROUP BY h.round_id, h.late
