-- Runs that wait are looked for by the time at which they began to.
CREATE INDEX runs_waiting ON runs (ended, number) WHERE status = 'waiting';
