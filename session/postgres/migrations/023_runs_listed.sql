-- The application and the digest of the user of a run, for lists over all sessions. Those
-- of hidden sessions have no application: they are not listed.
ALTER TABLE parley_runs ADD COLUMN list_app text COLLATE "C", ADD COLUMN list_user bytea;

UPDATE parley_runs r SET list_app = CASE WHEN s.hidden THEN '' ELSE s.app END, list_user = s.owner
    FROM parley_sessions s WHERE s.ordinal = r.session;

-- A run is added to them when it ends: those that have not ended are few.
CREATE INDEX parley_runs_of_app ON parley_runs (list_app, status, created, number) WHERE list_app <> '' AND status NOT IN ('queued', 'running');
CREATE INDEX parley_runs_of_user ON parley_runs (list_user, status, created, number) WHERE list_app <> '' AND status NOT IN ('queued', 'running');

-- A server of an earlier version that still uses the database knows nothing of this, nor
-- do the rows that were on their way to another database.
CREATE OR REPLACE FUNCTION parley_list_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT CASE WHEN s.hidden THEN '' ELSE s.app END, s.owner INTO NEW.list_app, NEW.list_user
        FROM parley_sessions s WHERE s.ordinal = NEW.session;
    RETURN NEW;
END $$;

CREATE TRIGGER parley_runs_listed BEFORE INSERT ON parley_runs FOR EACH ROW WHEN (NEW.list_app IS NULL) EXECUTE FUNCTION parley_list_run();
