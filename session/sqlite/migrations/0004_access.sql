-- What was used, by day (in UTC), application and user. It stays when sessions
-- are deleted: limits count on it.
CREATE TABLE usage (
    day         TEXT    NOT NULL,
    app         TEXT    NOT NULL,
    user        TEXT    NOT NULL,
    runs        INTEGER NOT NULL,
    prompt      INTEGER NOT NULL,
    candidates  INTEGER NOT NULL,
    total       INTEGER NOT NULL,
    cached      INTEGER NOT NULL,
    thoughts    INTEGER NOT NULL,
    tool_prompt INTEGER NOT NULL,
    PRIMARY KEY (day, app, user)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_of_user ON usage (user, day);

-- Keys that callers show. The hash cannot be used in their place.
CREATE TABLE api_keys (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT    NOT NULL UNIQUE,
    hash    BLOB    NOT NULL,
    name    TEXT    NOT NULL,
    user    TEXT    NOT NULL,
    scopes  TEXT    NOT NULL, -- with spaces between them
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL, -- 0 for never
    used    INTEGER NOT NULL  -- 0 for not yet
) STRICT;
