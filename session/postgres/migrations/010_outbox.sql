-- Who is told about the runs of a session, and what is not sent yet.
CREATE TABLE parley_subscriptions (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL,
    id      text COLLATE "C" NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    label   text NOT NULL,
    created timestamptz NOT NULL,
    UNIQUE (session, id)
);

-- Their numbers are also in the row of the session: a transaction that changes a
-- run locks it, and so sees those of the last one.
ALTER TABLE parley_sessions ADD COLUMN subscriptions bigint[] NOT NULL DEFAULT '{}';

CREATE TABLE parley_deliveries (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subscription bigint NOT NULL REFERENCES parley_subscriptions (number) ON DELETE CASCADE,
    run          text NOT NULL,
    status       text COLLATE "C" NOT NULL,
    created      timestamptz NOT NULL,
    due          timestamptz NOT NULL,           -- the end of the lease of one that is claimed
    attempt      integer NOT NULL DEFAULT 0,
    failed       boolean NOT NULL DEFAULT false, -- whether it is given up
    error        text NOT NULL DEFAULT ''
);

CREATE INDEX parley_deliveries_of_subscription ON parley_deliveries (subscription, failed, number);
CREATE INDEX parley_deliveries_due ON parley_deliveries (failed, due);
