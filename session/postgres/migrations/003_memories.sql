-- What was said in earlier sessions. It outlives its session, unless somebody
-- deletes that.
CREATE TABLE parley_memories (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner   bytea NOT NULL,                 -- digest of app and user
    session bigint NOT NULL,
    event   bytea NOT NULL,
    author  bytea NOT NULL,
    time    timestamptz NOT NULL,
    content bytea NOT NULL
);

CREATE UNIQUE INDEX parley_memories_of_session ON parley_memories (session, sha256(event));
CREATE INDEX parley_memories_by_owner ON parley_memories (owner);

-- Which memories of a user have a word. Each user has an index of his own, so
-- that what is found for one costs nothing for what others have said.
CREATE TABLE parley_memory_words (
    owner  bytea NOT NULL,
    word   bytea NOT NULL,
    memory bigint NOT NULL REFERENCES parley_memories (id) ON DELETE CASCADE,
    PRIMARY KEY (owner, word, memory)
);

CREATE INDEX parley_memory_words_of_memory ON parley_memory_words (memory);
