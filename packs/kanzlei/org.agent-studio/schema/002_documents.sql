-- Documents are files in the folder of their Akte; here are their text and digest, by version.
CREATE TABLE dokument (
    id INTEGER PRIMARY KEY,
    akte INTEGER NOT NULL REFERENCES akte (id),
    ordner TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL,
    art TEXT NOT NULL DEFAULT '',
    datum TEXT,
    angelegt TEXT NOT NULL,
    UNIQUE (akte, ordner, name)
);

CREATE TABLE version (
    id INTEGER PRIMARY KEY,
    dokument INTEGER NOT NULL REFERENCES dokument (id),
    nummer INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    ohne_text TEXT NOT NULL DEFAULT '',
    zeit TEXT NOT NULL,
    person INTEGER NOT NULL REFERENCES person (id),
    UNIQUE (dokument, nummer)
);

CREATE TABLE seite (
    version INTEGER NOT NULL REFERENCES version (id),
    nummer INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (version, nummer)
) WITHOUT ROWID;
