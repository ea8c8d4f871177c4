-- Who is told about the runs of a session, and what is not sent yet.
CREATE TABLE subscriptions (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (ordinal) ON DELETE CASCADE,
    id      TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    label   TEXT    NOT NULL,
    created INTEGER NOT NULL,
    UNIQUE (session, id)
) STRICT;

CREATE TABLE deliveries (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription INTEGER NOT NULL REFERENCES subscriptions (number) ON DELETE CASCADE,
    run          TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    created      INTEGER NOT NULL,
    due          INTEGER NOT NULL,           -- the end of the lease of one that is claimed
    attempt      INTEGER NOT NULL DEFAULT 0,
    failed       INTEGER NOT NULL DEFAULT 0, -- whether it is given up
    error        TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX deliveries_of_subscription ON deliveries (subscription, failed, number);
CREATE INDEX deliveries_due ON deliveries (failed, due);
