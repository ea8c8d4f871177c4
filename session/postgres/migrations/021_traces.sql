-- Which trace a run was part of, so that every server continues it.
ALTER TABLE parley_deliveries ADD COLUMN trace text NOT NULL DEFAULT '';
