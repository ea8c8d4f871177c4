-- The last feedback of each author to each run, for lists over all sessions: written
-- after the log, as what was said is.
CREATE TABLE feedback (
    session INTEGER NOT NULL REFERENCES sessions (ordinal) ON DELETE CASCADE,
    seq     INTEGER NOT NULL, -- of the entry with it
    app     TEXT    NOT NULL,
    owner   BLOB    NOT NULL, -- digest of app and user
    time    INTEGER NOT NULL, -- microseconds since 1970
    run     TEXT    NOT NULL,
    author  TEXT    NOT NULL,
    rating  TEXT    NOT NULL,
    note    TEXT    NOT NULL,
    event   TEXT    NOT NULL, -- id of the first event of the run
    message TEXT    NOT NULL, -- the beginning of what the user has said in the run
    answer  TEXT    NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX feedback_of_app ON feedback (app, time, session, seq);
CREATE INDEX feedback_of_user ON feedback (owner, time, session, seq);

-- How far the log of a session is in the table above. Logs that were indexed before are
-- read again.
ALTER TABLE said_until ADD COLUMN feedback INTEGER NOT NULL DEFAULT 0;
