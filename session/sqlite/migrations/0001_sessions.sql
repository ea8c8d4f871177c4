-- Times are nanoseconds since 1970 and lengths of time are nanoseconds, so that
-- they come back as they were.

-- AUTOINCREMENT: an ordinal is never given out again.
CREATE TABLE sessions (
    ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
    digest  BLOB    NOT NULL UNIQUE, -- of the whole key
    owner   BLOB    NOT NULL,        -- digest of app and user
    app     TEXT    NOT NULL,
    user    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    hidden  INTEGER NOT NULL,
    epoch   INTEGER NOT NULL DEFAULT 0, -- under which can be appended, 0 for none
    active  INTEGER,                    -- number of the run that is running
    seq     INTEGER NOT NULL DEFAULT 0,
    rewound INTEGER NOT NULL DEFAULT 0,
    title   TEXT    NOT NULL DEFAULT '', -- in lower case
    ttl     INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL
) STRICT;

-- Every index ends with the ordinal, so this is the order of lists, too.
CREATE INDEX sessions_listed ON sessions (owner) WHERE hidden = 0;

-- With a rowid: entries of all sessions are written to the end of one tree, and
-- only the small index is written to all over. Without one, a commit touches a
-- page of entries for each session, which took five times as long to write and
-- twice the room; reading a log took half as long for small events, and no less
-- for large ones.
CREATE TABLE events (
    session INTEGER NOT NULL REFERENCES sessions (ordinal) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    json    BLOB    NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT;

-- The owner is the ordinal of a session, or the digest of a user or of an
-- application. Being a number or not tells them apart.
CREATE TABLE state (
    owner ANY  NOT NULL,
    name  TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- The session's own state when it was made.
CREATE TABLE initial (
    session INTEGER NOT NULL REFERENCES sessions (ordinal) ON DELETE CASCADE,
    name    TEXT    NOT NULL,
    value   BLOB    NOT NULL,
    PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;

-- In the order in which a user's list is filtered by a label.
CREATE TABLE labels (
    owner   BLOB    NOT NULL,
    name    TEXT    NOT NULL,
    value   TEXT    NOT NULL,
    session INTEGER NOT NULL REFERENCES sessions (ordinal) ON DELETE CASCADE,
    PRIMARY KEY (owner, name, value, session)
) STRICT, WITHOUT ROWID;

CREATE INDEX labels_of_session ON labels (session);

CREATE TABLE runs (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    session     INTEGER NOT NULL REFERENCES sessions (ordinal) ON DELETE CASCADE,
    id          TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    stop        TEXT    NOT NULL DEFAULT '',
    owner       TEXT,                        -- who works on it; NULL for nobody
    lease       INTEGER NOT NULL DEFAULT 0,  -- when it is over
    epoch       INTEGER NOT NULL DEFAULT 0,
    attempt     INTEGER NOT NULL DEFAULT 0,
    first       INTEGER NOT NULL DEFAULT 0,
    last        INTEGER NOT NULL DEFAULT 0,
    resumes     TEXT    NOT NULL DEFAULT '',
    failure     BLOB,                        -- JSON
    usage       BLOB,                        -- an event that has it, as JSON
    request     BLOB,
    idempotency TEXT,
    fingerprint TEXT    NOT NULL DEFAULT '',
    created     INTEGER NOT NULL,
    ended       INTEGER NOT NULL DEFAULT 0,  -- 0 until then
    UNIQUE (session, id)
) STRICT;

CREATE INDEX runs_of_session ON runs (session);
CREATE INDEX runs_open ON runs (session) WHERE status IN ('queued', 'running');
CREATE UNIQUE INDEX runs_running ON runs (session) WHERE status = 'running';
CREATE UNIQUE INDEX runs_idempotency ON runs (session, idempotency) WHERE idempotency IS NOT NULL;

CREATE TABLE journal (
    run   INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    name  TEXT    NOT NULL,
    value BLOB    NOT NULL,
    PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

-- The last epoch that was given out, for all sessions.
CREATE TABLE epochs (last INTEGER NOT NULL) STRICT;
INSERT INTO epochs (last) VALUES (0);
