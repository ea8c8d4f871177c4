-- What was said, for searches: the texts of events that are not rewound, added after
-- they were stored. The ids are in the order of the times of the events.
CREATE TABLE said (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (ordinal) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    event   TEXT    NOT NULL,
    author  TEXT    NOT NULL,
    time    INTEGER NOT NULL, -- microseconds since 1970
    text    TEXT    NOT NULL,
    UNIQUE (session, seq)
) STRICT;

-- How far the log of a session is in the table above.
CREATE TABLE said_until (
    session INTEGER PRIMARY KEY REFERENCES sessions (ordinal) ON DELETE CASCADE,
    seq     INTEGER NOT NULL
) STRICT;

-- The words of the texts. They are separated and in lower case already, and begin
-- with a part of the digest of their user. All characters but ASCII are letters here.
CREATE VIRTUAL TABLE said_words USING fts5(words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TRIGGER said_deleted AFTER DELETE ON said BEGIN
    DELETE FROM said_words WHERE rowid = old.id;
END;
