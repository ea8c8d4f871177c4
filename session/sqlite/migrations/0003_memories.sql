-- What was said in earlier sessions. It outlives its session, unless somebody
-- deletes that: so session is its ordinal, and no reference.
CREATE TABLE memories (
    id      INTEGER PRIMARY KEY,
    owner   BLOB    NOT NULL, -- digest of app and user
    session INTEGER NOT NULL,
    event   TEXT    NOT NULL,
    author  TEXT    NOT NULL,
    time    INTEGER NOT NULL,
    content BLOB    NOT NULL,
    UNIQUE (session, event)
) STRICT;

CREATE INDEX memories_by_owner ON memories (owner);

-- Which memories of a user have a word. Each user has an index of his own, so
-- that what is found for one costs nothing for what others have said.
CREATE TABLE memory_words (
    owner  BLOB    NOT NULL,
    word   BLOB    NOT NULL,
    memory INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    PRIMARY KEY (owner, word, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_words_of_memory ON memory_words (memory);
