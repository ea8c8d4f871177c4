-- What is text for people is text; what is compared byte by byte, or may hold a
-- NUL, is bytea. Times are those of the database.

CREATE SEQUENCE parley_epochs;
CREATE SEQUENCE parley_numbers; -- of runs

-- Nothing that changes with a write is in an index, and pages have room left:
-- an update stays on its page and touches no index.
CREATE TABLE parley_sessions (
    ordinal  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest   bytea NOT NULL UNIQUE,           -- of the key
    owner    bytea NOT NULL,                  -- digest of app and user
    app      text COLLATE "C" NOT NULL,
    usr      text COLLATE "C" NOT NULL,
    id       text COLLATE "C" NOT NULL,
    hidden   boolean NOT NULL,
    nonce    bigint NOT NULL,                 -- of the call that made it
    epoch    bigint NOT NULL DEFAULT 0,       -- 0 when nobody may write
    released bigint NOT NULL DEFAULT 0,       -- the epoch under which a run ended last
    run      bigint NOT NULL DEFAULT 0,       -- number of the last run that has begun
    busy     boolean NOT NULL DEFAULT false,  -- whether it is running
    queued   integer NOT NULL DEFAULT 0,      -- how many are in line
    seq      bigint NOT NULL DEFAULT 0,
    rewound  bigint NOT NULL DEFAULT 0,
    title    bytea NOT NULL DEFAULT '',       -- in small letters
    labels   bytea[] NOT NULL DEFAULT '{}',
    ttl      bigint NOT NULL,                 -- microseconds
    retried  bigint[] NOT NULL DEFAULT '{}',  -- calls whose first try must not come late
    created  timestamptz NOT NULL,
    updated  timestamptz NOT NULL
) WITH (fillfactor = 60);

CREATE INDEX parley_sessions_list ON parley_sessions (owner, ordinal) WHERE NOT hidden;

CREATE TABLE parley_initial (
    session bigint PRIMARY KEY,
    names   bytea[] NOT NULL,
    vals    bytea[] NOT NULL
);

CREATE TABLE parley_events (
    session bigint NOT NULL,
    seq     bigint NOT NULL,
    json    bytea NOT NULL,
    PRIMARY KEY (session, seq)
);

DO $$ BEGIN
    ALTER TABLE parley_events ALTER COLUMN json SET COMPRESSION lz4;
EXCEPTION WHEN OTHERS THEN
    NULL; -- a server without lz4 has its own way to make long events shorter
END $$;

-- owner is the ordinal of a session as eight bytes, or the digest of a user or
-- of an application. A value that was deleted stays as null for a while: a
-- statement cannot delete a row that another one has added since it began.
CREATE TABLE parley_state (
    owner  bytea NOT NULL,
    name   bytea NOT NULL,
    digest bytea NOT NULL GENERATED ALWAYS AS (sha256(name)) STORED, -- names can be too long for an index
    value  bytea,
    PRIMARY KEY (owner, digest)
) WITH (fillfactor = 80);

CREATE TABLE parley_runs (
    session     bigint NOT NULL,
    number      bigint NOT NULL,
    id          text COLLATE "C" NOT NULL,
    status      text COLLATE "C" NOT NULL,
    stop        text COLLATE "C" NOT NULL DEFAULT '',
    owner       text COLLATE "C" NOT NULL DEFAULT '',  -- empty when nobody works on it
    epoch       bigint NOT NULL DEFAULT 0,
    attempt     integer NOT NULL DEFAULT 0,
    lease       timestamptz NOT NULL DEFAULT '-infinity',
    nonce       bigint NOT NULL,                       -- of the call that has begun or claimed it
    first       bigint NOT NULL DEFAULT 0,
    last        bigint NOT NULL DEFAULT 0,
    resumes     text NOT NULL DEFAULT '',
    failure     bytea,
    usage       bytea,
    request     bytea,
    idem        bytea,                                 -- digest of the idempotency key
    fingerprint bytea,
    created     timestamptz NOT NULL,
    ended       timestamptz,
    PRIMARY KEY (session, number),
    UNIQUE (session, id)
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX parley_runs_idem ON parley_runs (session, idem) WHERE idem IS NOT NULL;
CREATE INDEX parley_runs_open ON parley_runs (session, number) WHERE status IN ('queued', 'running');

CREATE TABLE parley_journal (
    session bigint NOT NULL,
    run     bigint NOT NULL,
    name    bytea NOT NULL,
    digest  bytea NOT NULL GENERATED ALWAYS AS (sha256(name)) STORED,
    value   bytea, -- null when it was deleted
    PRIMARY KEY (session, run, digest)
);

-- Tries to make or delete a session, or to claim a run, that got no answer and
-- were made again.
-- One that arrives after all must find nothing to do.
CREATE TABLE parley_tries (
    nonce bigint PRIMARY KEY,
    made  timestamptz NOT NULL
);
