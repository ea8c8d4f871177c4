-- A checksum (CRC-32C) of json. NULL for events that are older than it.
ALTER TABLE events ADD COLUMN sum BLOB;
