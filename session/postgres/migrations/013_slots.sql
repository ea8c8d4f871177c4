-- Sessions in several databases. Every user belongs to a slot, and every slot to
-- one database. A database that is used alone has no rows in any of these tables.

-- This database among the others: its name, and its number, by which the numbers
-- that it assigns differ from those of the others.
CREATE TABLE parley_place (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    name   text NOT NULL,
    number integer NOT NULL
);

-- In the first database: all of them.
CREATE TABLE parley_members (
    number integer PRIMARY KEY,
    name   text NOT NULL UNIQUE
);

-- Where a slot is, as far as this database knows. hop counts its moves: the row
-- with the most is right.
CREATE TABLE parley_slots (
    slot integer PRIMARY KEY,
    here boolean NOT NULL,
    name text NOT NULL, -- of the database
    hop  integer NOT NULL
);

-- The rows of slots that have left this database, until they have arrived.
CREATE TABLE parley_moving (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slot   integer NOT NULL,
    kind   text COLLATE "C" NOT NULL, -- the table
    body   text NOT NULL              -- the row as JSON
);

CREATE INDEX parley_moving_of_slot ON parley_moving (slot, kind, number);

-- The sessions of a slot that are not in parley_sessions_list.
CREATE INDEX parley_sessions_hidden ON parley_sessions (owner) WHERE hidden;

-- When the value of an app: key was changed, and in which database if not in this
-- one: all databases have these values.
ALTER TABLE parley_state ADD COLUMN stamp timestamptz, ADD COLUMN origin integer;

CREATE INDEX parley_state_stamps ON parley_state (stamp) WHERE stamp IS NOT NULL;
