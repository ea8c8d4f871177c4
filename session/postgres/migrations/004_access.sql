-- What was used, by day (in UTC), application and user. It stays when sessions
-- are deleted: limits count on it.
CREATE TABLE parley_usage (
    day         date NOT NULL,
    app         text COLLATE "C" NOT NULL,
    usr         text COLLATE "C" NOT NULL,
    runs        bigint NOT NULL,
    prompt      bigint NOT NULL,
    candidates  bigint NOT NULL,
    total       bigint NOT NULL,
    cached      bigint NOT NULL,
    thoughts    bigint NOT NULL,
    tool_prompt bigint NOT NULL,
    PRIMARY KEY (day, app, usr)
) WITH (fillfactor = 60);

CREATE INDEX parley_usage_of_user ON parley_usage (usr, day);

-- Keys that callers show. The hash cannot be used in their place.
CREATE TABLE parley_api_keys (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      text COLLATE "C" NOT NULL UNIQUE,
    hash    bytea NOT NULL,
    name    text NOT NULL,
    usr     text NOT NULL,
    scopes  text[] NOT NULL,
    created timestamptz NOT NULL,
    expires timestamptz, -- null for never
    used    timestamptz  -- null for not yet
);
