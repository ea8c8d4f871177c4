-- Who is told about the runs of all sessions of an application.
CREATE TABLE endpoints (
    id      TEXT    NOT NULL PRIMARY KEY,
    app     TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    label   TEXT    NOT NULL,
    created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX endpoints_of_app ON endpoints (app);

-- The deliveries are either those of a subscription, or those of an endpoint. Those have
-- the session that they are about; or NULL, and the user or NULL.
CREATE TABLE new_deliveries (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription INTEGER REFERENCES subscriptions (number) ON DELETE CASCADE,
    endpoint     TEXT    REFERENCES endpoints (id) ON DELETE CASCADE,
    session      INTEGER REFERENCES sessions (ordinal) ON DELETE CASCADE,
    user         TEXT,
    run          TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    notice       TEXT    NOT NULL DEFAULT '',
    type         TEXT    NOT NULL DEFAULT '',
    json         BLOB,
    created      INTEGER NOT NULL,
    since        INTEGER,                    -- when it was replayed
    due          INTEGER NOT NULL,           -- the end of the lease of one that is claimed
    attempt      INTEGER NOT NULL DEFAULT 0,
    failed       INTEGER NOT NULL DEFAULT 0, -- whether it is given up
    error        TEXT    NOT NULL DEFAULT ''
) STRICT;

INSERT INTO new_deliveries (number, subscription, run, status, created, due, attempt, failed, error)
    SELECT number, subscription, run, status, created, due, attempt, failed, error FROM deliveries;
DROP TABLE deliveries;
ALTER TABLE new_deliveries RENAME TO deliveries;

CREATE INDEX deliveries_of_subscription ON deliveries (subscription, failed, number) WHERE subscription IS NOT NULL;
CREATE INDEX deliveries_due ON deliveries (failed, due);
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint, failed, due) WHERE endpoint IS NOT NULL;
CREATE INDEX deliveries_about ON deliveries (session, endpoint, failed, number) WHERE session IS NOT NULL;

-- The notices that were published, so that this happens once. The session is 0 for none.
CREATE TABLE published (
    session INTEGER NOT NULL,
    app     TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (session, app, id)
) STRICT, WITHOUT ROWID;
