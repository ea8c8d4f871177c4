-- The last feedback of each author to each run, for lists over all sessions: written
-- after the log, as what was said is.
CREATE TABLE parley_feedback (
    session bigint NOT NULL REFERENCES parley_sessions (ordinal) ON DELETE CASCADE,
    seq     bigint NOT NULL,           -- of the entry with it
    app     text COLLATE "C" NOT NULL,
    owner   bytea NOT NULL,            -- digest of app and user
    time    bigint NOT NULL,           -- microseconds since 1970
    run     bytea NOT NULL,
    author  bytea NOT NULL,
    rating  bytea NOT NULL,
    note    bytea NOT NULL,
    event   bytea NOT NULL,            -- id of the first event of the run
    message bytea NOT NULL,            -- the beginning of what the user has said in the run
    answer  bytea NOT NULL,
    PRIMARY KEY (session, seq)
);

CREATE INDEX parley_feedback_of_app ON parley_feedback (app, time, session, seq);
CREATE INDEX parley_feedback_of_user ON parley_feedback (owner, time, session, seq);

-- How far the log of a session is in the table above. Logs that were indexed before are
-- read again.
ALTER TABLE parley_said_until ADD COLUMN feedback bigint NOT NULL DEFAULT 0;
