-- What runs have used that is not in parley_usage yet. Rows are only added, so that
-- the ends of several runs of one user do not wait for each other.
CREATE TABLE parley_usage_log (
    day         date NOT NULL,
    app         text COLLATE "C" NOT NULL,
    usr         text COLLATE "C" NOT NULL,
    runs        bigint NOT NULL,
    prompt      bigint NOT NULL,
    candidates  bigint NOT NULL,
    total       bigint NOT NULL,
    cached      bigint NOT NULL,
    thoughts    bigint NOT NULL,
    tool_prompt bigint NOT NULL
);
