-- The releases after the first two, as if each had been built like the second: its row under other numbers.
CREATE TEMP TABLE later AS
SELECT release.*, number + more AS new_number, id + more AS new_id, published_at + more * interval '9 days' AS new_at
FROM publishing_release AS release, generate_series(1, %(releases)s - 2) AS more
WHERE study_id = %(study)s AND number = 2;

INSERT INTO publishing_release
    (id, study_id, number, state, environment, study_state, title, description, license, story_language, doi,
     story_cap, pay_rate, currency,
     filter_name, votes_per_story, salt, code_version, requested_by_id, requested_at, started_at, answers_until,
     published_at, failure, manifest_sha256, stories, kept, dropped, incomplete, votes, annotators)
SELECT new_id, study_id, new_number, state, environment, study_state, title, description, license, story_language, '',
       story_cap, pay_rate,
       currency, filter_name, votes_per_story, salt, code_version, requested_by_id, new_at, new_at, new_at, new_at,
       failure, manifest_sha256, stories, kept, dropped, incomplete, votes, annotators
FROM later;
INSERT INTO publishing_releasefile (release_id, path, size, sha256)
SELECT new_id, path, size, sha256 FROM later JOIN publishing_releasefile AS file ON file.release_id = later.id;
INSERT INTO publishing_deposit
    (release_id, kind, place, public, state, requested_by_id, requested_at, done_at, url, failure)
SELECT new_id, 's3', 's3://bench/releases/' || new_number, true, 'done', %(owner)s, new_at, new_at,
       'https://bench.example.org/releases/' || new_number, ''
FROM later;
INSERT INTO publishing_withdrawal (release_id, reason, withdrawn_at, withdrawn_by_id)
SELECT new_id, 'A newer one takes its place.', new_at + interval '1 day', %(owner)s FROM later WHERE mod(new_number, 4) = 0;
INSERT INTO annotation_event (study_id, type, actor_id, subject, note, at)
SELECT %(study)s, type, %(owner)s, 'release ' || new_number, '', new_at
FROM later, unnest(ARRAY['release_requested', 'release_published', CASE WHEN mod(new_number, 4) = 0 THEN 'release_withdrawn' END]) AS type
WHERE type IS NOT NULL;
