-- A foreign key looks a session up for every text that is added, which costs more than
-- the text. What adds texts has locked their sessions against being deleted, or has added
-- them in the same transaction, so it is enough that texts are deleted with their session.
-- The order of the locks is that of the statements that add texts.
LOCK TABLE parley_sessions, parley_said IN ACCESS EXCLUSIVE MODE;

ALTER TABLE parley_said DROP CONSTRAINT IF EXISTS parley_said_session_fkey;

CREATE OR REPLACE FUNCTION parley_delete_said() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM parley_said WHERE session = OLD.ordinal;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER parley_sessions_said AFTER DELETE ON parley_sessions FOR EACH ROW EXECUTE FUNCTION parley_delete_said();
