-- What is kept for users and shown to nobody. session is the ordinal of the
-- session that a secret goes with, 0 for one of all sessions of a user.
CREATE TABLE parley_secrets (
    owner   bytea NOT NULL,                  -- digest of app and user
    session bigint NOT NULL,
    name    bytea NOT NULL,
    digest  bytea NOT NULL GENERATED ALWAYS AS (sha256(name)) STORED,
    version bigint NOT NULL,
    nonce   bigint NOT NULL,                 -- of the call that stored it
    sealed  bytea NOT NULL,
    about   bytea,
    stored  timestamptz NOT NULL,
    PRIMARY KEY (owner, session, digest)
);

CREATE INDEX parley_secrets_of_session ON parley_secrets (session) WHERE session <> 0;
