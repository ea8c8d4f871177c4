-- Runs that wait are looked for by the time at which they began to.
CREATE INDEX parley_runs_waiting ON parley_runs (ended, number) WHERE status = 'waiting';
