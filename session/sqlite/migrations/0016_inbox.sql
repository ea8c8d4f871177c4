-- The runs of a user's sessions that wait.
CREATE INDEX runs_waiting_of ON runs (session) WHERE status = 'waiting';
