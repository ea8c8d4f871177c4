-- Owners from which a run was claimed because their leases had expired. One that
-- renews a lease later was alive, and is removed.
CREATE TABLE deaths (
    owner TEXT    NOT NULL,
    run   INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    PRIMARY KEY (owner, run)
) STRICT, WITHOUT ROWID;

CREATE INDEX deaths_of_run ON deaths (run);
