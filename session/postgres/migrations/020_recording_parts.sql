-- What several recordings of a session have, such as instructions and declarations of tools.
CREATE TABLE parley_recording_parts (
    session bigint NOT NULL,
    digest  bytea NOT NULL,
    json    bytea NOT NULL,
    PRIMARY KEY (session, digest)
);

-- The digests of the parts of a recording, one after the other; NULL for none.
ALTER TABLE parley_recordings ADD COLUMN parts bytea;
