-- The run that has answered all that a run waited for.
ALTER TABLE runs ADD COLUMN resumed_by TEXT NOT NULL DEFAULT '';

-- Runs that were answered before stayed 'waiting'. A wait is over when the last
-- run of it has ended otherwise.
WITH RECURSIVE answered (session, id, resumed_by, number) AS (
    SELECT session, resumes, id, number FROM runs WHERE resumes <> '' AND (status = 'completed' OR status = 'failed' AND first > 0)
    UNION
    SELECT r.session, r.resumes, r.id, r.number FROM answered a JOIN runs r ON r.session = a.session AND r.id = a.id WHERE r.resumes <> ''
)
UPDATE runs SET status = 'completed', resumed_by = a.resumed_by
FROM (SELECT session, id, resumed_by, max(number) FROM answered GROUP BY session, id) AS a
WHERE runs.session = a.session AND runs.id = a.id AND runs.status = 'waiting';
