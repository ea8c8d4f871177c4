-- What models and tools answered in a run, for each process that worked on it.
CREATE TABLE parley_recordings (
    session bigint NOT NULL,
    run     text COLLATE "C" NOT NULL,
    attempt integer NOT NULL,
    created timestamptz NOT NULL,
    json    bytea NOT NULL,
    PRIMARY KEY (session, run, attempt)
);

CREATE INDEX parley_recordings_created ON parley_recordings (created);
