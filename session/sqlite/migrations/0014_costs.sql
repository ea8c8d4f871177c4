-- What was used, as in usage, by model. It is not known of what was used before.
CREATE TABLE model_usage (
    day         TEXT    NOT NULL,
    app         TEXT    NOT NULL,
    user        TEXT    NOT NULL,
    model       TEXT    NOT NULL, -- may be empty
    prompt      INTEGER NOT NULL,
    candidates  INTEGER NOT NULL,
    total       INTEGER NOT NULL,
    cached      INTEGER NOT NULL,
    thoughts    INTEGER NOT NULL,
    tool_prompt INTEGER NOT NULL,
    nanos       INTEGER NOT NULL, -- the cost in billionths of a US dollar
    unpriced    INTEGER NOT NULL, -- tokens whose cost is unknown
    PRIMARY KEY (day, app, user, model)
) STRICT, WITHOUT ROWID;

-- The same of a run, as JSON.
ALTER TABLE runs ADD COLUMN models BLOB;
