-- What is started without a request, and what came of it.
CREATE TABLE parley_schedules (
    owner   bytea NOT NULL,
    app     text COLLATE "C" NOT NULL,
    usr     text COLLATE "C" NOT NULL,
    id      text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    nonce   bigint NOT NULL,             -- of the call that has stored it
    created timestamptz NOT NULL,
    next    timestamptz,                 -- NULL for never
    due     timestamptz,                 -- next, or the end of the lease of one that is claimed
    attempt integer NOT NULL DEFAULT 0,
    json    bytea NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX parley_schedules_due ON parley_schedules (due) WHERE due IS NOT NULL;

CREATE TABLE parley_firings (
    owner    bytea NOT NULL,
    schedule text COLLATE "C" NOT NULL,
    time     timestamptz NOT NULL,
    json     bytea NOT NULL,
    PRIMARY KEY (owner, schedule, time),
    FOREIGN KEY (owner, schedule) REFERENCES parley_schedules (owner, id) ON DELETE CASCADE
);
