-- Decisions of courts, by Randnummer; their Aktenzeichen also without blanks, by which citations find them.
CREATE TABLE entscheidung (
    id INTEGER PRIMARY KEY,
    doknr TEXT NOT NULL UNIQUE,
    ecli TEXT NOT NULL,
    gericht TEXT NOT NULL,
    spruchkoerper TEXT NOT NULL,
    tag TEXT NOT NULL,
    az TEXT NOT NULL,
    az_schluessel TEXT NOT NULL,
    art TEXT NOT NULL,
    titel TEXT NOT NULL,
    leitsatz TEXT NOT NULL,
    normen TEXT NOT NULL,
    eingelesen TEXT NOT NULL
);
CREATE INDEX entscheidung_az ON entscheidung (az_schluessel);
CREATE INDEX entscheidung_ecli ON entscheidung (ecli);

CREATE TABLE entscheidung_absatz (
    entscheidung INTEGER NOT NULL REFERENCES entscheidung (id),
    folge INTEGER NOT NULL,
    teil TEXT NOT NULL,
    rn TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (entscheidung, folge)
) WITHOUT ROWID;

CREATE TABLE entscheidung_norm (
    norm TEXT NOT NULL,
    entscheidung INTEGER NOT NULL REFERENCES entscheidung (id),
    PRIMARY KEY (norm, entscheidung)
) WITHOUT ROWID;

CREATE TABLE entscheidung_worte (id INTEGER PRIMARY KEY, titel TEXT NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE entscheidung_suche USING fts5 (
    titel, text, content = 'entscheidung_worte', content_rowid = 'id', tokenize = 'unicode61'
);
