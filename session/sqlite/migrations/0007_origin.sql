-- Where a fork comes from, as JSON, and the session from which all its branches
-- come. Forks that were made before know neither.
ALTER TABLE sessions ADD COLUMN origin BLOB;
ALTER TABLE sessions ADD COLUMN root TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_root ON sessions (owner, root) WHERE root <> '';
