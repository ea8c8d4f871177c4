-- The words of the texts, now also by their first one to four letters, which follow eight
-- of the digest of their user: a search for these returns the newest texts without finding
-- all others first. The words cannot be read back, so the texts are indexed again.
DROP TRIGGER said_deleted;
DROP TABLE said_words;
DELETE FROM said;
UPDATE said_until SET seq = 0;

CREATE VIRTUAL TABLE said_words USING fts5(words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii', prefix = '9 10 11 12');

CREATE TRIGGER said_deleted AFTER DELETE ON said BEGIN
    DELETE FROM said_words WHERE rowid = old.id;
END;

-- The words in their order, with the text that has them.
CREATE VIRTUAL TABLE said_terms USING fts5vocab(said_words, instance);
