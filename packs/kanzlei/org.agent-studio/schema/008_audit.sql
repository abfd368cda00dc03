-- What was sent, refused, changed and decided, and by whom; no words of an Akte. Each row is chained to the one before.
CREATE TABLE protokoll (
    id INTEGER PRIMARY KEY,
    zeit TEXT NOT NULL,
    akte INTEGER,
    az TEXT NOT NULL,
    person TEXT NOT NULL,
    rolle TEXT NOT NULL,
    anbieter TEXT NOT NULL,
    modell TEXT NOT NULL,
    was TEXT NOT NULL,
    entscheidung TEXT NOT NULL,
    kette TEXT NOT NULL
);
CREATE INDEX protokoll_akte ON protokoll (akte, id);
CREATE TRIGGER protokoll_bleibt BEFORE UPDATE ON protokoll BEGIN
    SELECT RAISE(ABORT, 'Das Protokoll wird nicht geändert.');
END;
CREATE TRIGGER protokoll_bleibt_ganz BEFORE DELETE ON protokoll BEGIN
    SELECT RAISE(ABORT, 'Aus dem Protokoll wird nichts gelöscht.');
END;

-- Akten that are kept longer than they must be.
CREATE TABLE aufbewahrung (
    akte INTEGER PRIMARY KEY REFERENCES akte (id),
    grund TEXT NOT NULL
);
