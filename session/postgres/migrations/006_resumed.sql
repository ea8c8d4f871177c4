-- The run that has answered all that a run waited for.
ALTER TABLE parley_runs ADD COLUMN resumed_by text NOT NULL DEFAULT '';

-- Runs that were answered before stayed 'waiting'. A wait is over when the last
-- run of it has ended otherwise.
WITH RECURSIVE answered (session, id, resumed_by, number) AS (
    SELECT session, resumes, id::text, number FROM parley_runs WHERE resumes <> '' AND (status = 'completed' OR status = 'failed' AND first > 0)
    UNION
    SELECT r.session, r.resumes, r.id::text, r.number FROM answered a JOIN parley_runs r ON r.session = a.session AND r.id = a.id WHERE r.resumes <> ''
)
UPDATE parley_runs r SET status = 'completed', resumed_by = a.resumed_by
FROM (SELECT DISTINCT ON (session, id) session, id, resumed_by FROM answered ORDER BY session, id, number DESC) AS a
WHERE r.session = a.session AND r.id = a.id AND r.status = 'waiting';
