-- What is kept for users and shown to nobody. A secret of a session has its
-- ordinal and goes with it; one of all sessions of a user has none.
CREATE TABLE secrets (
    version INTEGER PRIMARY KEY AUTOINCREMENT, -- never given out again
    owner   BLOB    NOT NULL,                  -- digest of app and user
    session INTEGER REFERENCES sessions (ordinal) ON DELETE CASCADE,
    name    BLOB    NOT NULL,
    sealed  BLOB    NOT NULL,
    about   BLOB,
    stored  INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX secrets_of_session ON secrets (session, name) WHERE session IS NOT NULL;
CREATE UNIQUE INDEX secrets_of_user ON secrets (owner, name) WHERE session IS NULL;
CREATE INDEX secrets_by_owner ON secrets (owner);
