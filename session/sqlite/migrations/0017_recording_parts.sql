-- What several recordings of a session have, such as instructions and declarations of tools.
CREATE TABLE recording_parts (
    number  INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (ordinal) ON DELETE CASCADE,
    digest  BLOB    NOT NULL,
    json    BLOB    NOT NULL,
    UNIQUE (session, digest)
) STRICT;

-- The digests of the parts of a recording, one after the other; NULL for none.
ALTER TABLE recordings ADD COLUMN parts BLOB;
