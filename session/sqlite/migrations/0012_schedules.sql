-- What is started without a request, and what came of it.
CREATE TABLE schedules (
    owner   BLOB    NOT NULL,
    app     TEXT    NOT NULL,
    user    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL,
    next    INTEGER,                    -- NULL for never
    due     INTEGER,                    -- next, or the end of the lease of one that is claimed
    attempt INTEGER NOT NULL DEFAULT 0,
    json    BLOB    NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX schedules_due ON schedules (due) WHERE due IS NOT NULL;

CREATE TABLE firings (
    owner    BLOB    NOT NULL,
    schedule TEXT    NOT NULL,
    time     INTEGER NOT NULL,
    json     BLOB    NOT NULL,
    PRIMARY KEY (owner, schedule, time),
    FOREIGN KEY (owner, schedule) REFERENCES schedules (owner, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
