-- The texts of a user from the newest on, for searches that most of them match.
CREATE INDEX parley_said_recent ON parley_said (owner, time, session, seq);
