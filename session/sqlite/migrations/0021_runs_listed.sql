-- The application and the digest of the user of a run, for lists over all sessions. Those
-- of hidden sessions have no application: they are not listed.
ALTER TABLE runs ADD COLUMN list_app TEXT;
ALTER TABLE runs ADD COLUMN list_user BLOB;

UPDATE runs SET (list_app, list_user) = (SELECT iif(s.hidden, '', s.app), s.owner FROM sessions AS s WHERE s.ordinal = runs.session);

-- A run is added to them when it ends: those that have not ended are few.
CREATE INDEX runs_of_app ON runs (list_app, status, created) WHERE list_app <> '' AND status NOT IN ('queued', 'running');
CREATE INDEX runs_of_user ON runs (list_user, status, created) WHERE list_app <> '' AND status NOT IN ('queued', 'running');

-- A process of an earlier version that still has the database open knows nothing of this.
CREATE TRIGGER runs_listed AFTER INSERT ON runs WHEN new.list_app IS NULL BEGIN
    UPDATE runs SET (list_app, list_user) = (SELECT iif(s.hidden, '', s.app), s.owner FROM sessions AS s WHERE s.ordinal = new.session)
        WHERE number = new.number;
END;
