-- Owners from which a run was claimed because their leases had expired. One that
-- renews a lease later was alive, and is removed.
CREATE TABLE parley_deaths (
    session bigint NOT NULL,
    run     bigint NOT NULL,
    owner   text COLLATE "C" NOT NULL,
    PRIMARY KEY (session, run, owner)
);

CREATE INDEX parley_deaths_by_owner ON parley_deaths (owner);
