-- What was said, for searches: the texts of events that are not rewound, added after
-- they were stored.
CREATE TABLE parley_said (
    session bigint NOT NULL REFERENCES parley_sessions (ordinal) ON DELETE CASCADE,
    seq     bigint NOT NULL,
    owner   bytea NOT NULL,    -- digest of app and user
    time    bigint NOT NULL,   -- microseconds since 1970
    event   bytea NOT NULL,
    author  bytea NOT NULL,
    text    bytea NOT NULL,
    words   tsvector NOT NULL, -- each begins with a part of the owner
    PRIMARY KEY (session, seq)
);

CREATE INDEX parley_said_words ON parley_said USING gin (words);

-- How far the log of a session is in the table above.
CREATE TABLE parley_said_until (
    session bigint PRIMARY KEY REFERENCES parley_sessions (ordinal) ON DELETE CASCADE,
    seq     bigint NOT NULL
) WITH (fillfactor = 80);
