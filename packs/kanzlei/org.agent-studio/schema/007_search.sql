-- Stems of the newest text of each document, for the search in all Akten. What changed is noted by triggers, so that
-- nobody who writes documents has to think of it; it is indexed before the next search.
CREATE TABLE dokument_worte (
    id INTEGER PRIMARY KEY,
    titel TEXT NOT NULL,
    text TEXT NOT NULL,
    akte TEXT NOT NULL
);
CREATE VIRTUAL TABLE dokument_suche USING fts5 (
    titel, text, akte, content = 'dokument_worte', content_rowid = 'id', tokenize = 'unicode61',
    prefix = '2 3 4'
);

-- Stems that are indexed, also those of documents that are gone: what begins as a word that is being typed.
CREATE TABLE stamm (stamm TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE dokument_geaendert (dokument INTEGER PRIMARY KEY);
INSERT INTO dokument_geaendert SELECT id FROM dokument;
CREATE TRIGGER version_neu AFTER INSERT ON version BEGIN
    INSERT OR IGNORE INTO dokument_geaendert VALUES (new.dokument);
END;
CREATE TRIGGER version_weg AFTER DELETE ON version BEGIN
    INSERT OR IGNORE INTO dokument_geaendert VALUES (old.dokument);
END;
CREATE TRIGGER dokument_anders AFTER UPDATE OF name, art, akte ON dokument BEGIN
    INSERT OR IGNORE INTO dokument_geaendert VALUES (new.id);
END;
CREATE TRIGGER dokument_weg AFTER DELETE ON dokument BEGIN
    INSERT OR IGNORE INTO dokument_geaendert VALUES (old.id);
END;
