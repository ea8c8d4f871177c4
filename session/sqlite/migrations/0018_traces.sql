-- Which trace a run was part of, so that every process continues it.
ALTER TABLE deliveries ADD COLUMN trace TEXT NOT NULL DEFAULT '';
