-- A checksum (CRC-32C) of json. NULL for events that are older than it.
ALTER TABLE parley_events ADD COLUMN sum bytea;
