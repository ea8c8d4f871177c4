-- Where a fork comes from, as JSON, and the session from which all its branches
-- come. Forks that were made before know neither.
ALTER TABLE parley_sessions ADD COLUMN origin bytea, ADD COLUMN root text NOT NULL DEFAULT '';
