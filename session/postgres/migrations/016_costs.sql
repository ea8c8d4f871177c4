-- What was used, as in parley_usage, by model. It is not known of what was used before.
CREATE TABLE parley_model_usage (
    day         date NOT NULL,
    app         text COLLATE "C" NOT NULL,
    usr         text COLLATE "C" NOT NULL,
    model       text COLLATE "C" NOT NULL, -- may be empty
    prompt      bigint NOT NULL,
    candidates  bigint NOT NULL,
    total       bigint NOT NULL,
    cached      bigint NOT NULL,
    thoughts    bigint NOT NULL,
    tool_prompt bigint NOT NULL,
    nanos       bigint NOT NULL, -- the cost in billionths of a US dollar
    unpriced    bigint NOT NULL, -- tokens whose cost is unknown
    PRIMARY KEY (day, app, usr, model)
);

-- The same of a run: an array.
ALTER TABLE parley_runs ADD COLUMN models jsonb;

-- The arrays of the runs of the row.
ALTER TABLE parley_usage_log ADD COLUMN models jsonb;
