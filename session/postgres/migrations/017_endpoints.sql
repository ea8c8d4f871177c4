-- Who is told about the runs of all sessions of an application. With several databases,
-- each has all of them.
CREATE TABLE parley_endpoints (
    id      text COLLATE "C" PRIMARY KEY,
    app     text COLLATE "C" NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    label   text NOT NULL,
    created timestamptz NOT NULL
);

CREATE INDEX parley_endpoints_of_app ON parley_endpoints (app);

-- A delivery is either that of a subscription, or that of an endpoint. That has the session
-- that it is about; or NULL, and the user or NULL. Nothing refers to an endpoint, so that
-- the ends of runs do not lock it: what is left of one that was deleted is deleted later.
ALTER TABLE parley_deliveries
    ALTER COLUMN subscription DROP NOT NULL,
    ADD COLUMN endpoint text COLLATE "C",
    ADD COLUMN session  bigint,
    ADD COLUMN usr      text COLLATE "C",
    ADD COLUMN notice   text NOT NULL DEFAULT '',
    ADD COLUMN type     text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN json     bytea,
    ADD COLUMN since    timestamptz; -- when it was replayed

CREATE INDEX parley_deliveries_of_endpoint ON parley_deliveries (endpoint, failed, due) WHERE endpoint IS NOT NULL;
CREATE INDEX parley_deliveries_about ON parley_deliveries (session, endpoint, failed, number) WHERE session IS NOT NULL;

-- The notices that were published, so that this happens once. The session is 0 for none.
CREATE TABLE parley_published (
    session bigint NOT NULL,
    app     text COLLATE "C" NOT NULL,
    id      text COLLATE "C" NOT NULL,
    created timestamptz NOT NULL,
    PRIMARY KEY (session, app, id)
);
