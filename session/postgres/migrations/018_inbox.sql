-- The runs of a user's sessions that wait.
CREATE INDEX parley_runs_waiting_of ON parley_runs (session) WHERE status = 'waiting';
