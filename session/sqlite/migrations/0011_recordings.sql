-- What models and tools answered in a run, for each process that worked on it.
CREATE TABLE recordings (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (ordinal) ON DELETE CASCADE,
    run     TEXT    NOT NULL,
    attempt INTEGER NOT NULL,
    created INTEGER NOT NULL,
    json    BLOB    NOT NULL,
    UNIQUE (session, run, attempt)
) STRICT;

CREATE INDEX recordings_created ON recordings (created);
