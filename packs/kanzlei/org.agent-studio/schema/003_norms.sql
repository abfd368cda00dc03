-- Laws by section and Absatz. A wording that changed stays, with the days from and until which it was known.
CREATE TABLE gesetz (
    id INTEGER PRIMARY KEY,
    kurz TEXT NOT NULL UNIQUE,
    titel TEXT NOT NULL,
    stand TEXT NOT NULL,
    tag TEXT NOT NULL,
    eingelesen TEXT NOT NULL
);

CREATE TABLE paragraf (
    id INTEGER PRIMARY KEY,
    gesetz INTEGER NOT NULL REFERENCES gesetz (id),
    folge INTEGER NOT NULL,
    zeichen TEXT NOT NULL,
    nummer TEXT NOT NULL,
    gliederung TEXT NOT NULL,
    UNIQUE (gesetz, nummer)
);

CREATE TABLE norm (
    id INTEGER PRIMARY KEY,
    paragraf INTEGER NOT NULL REFERENCES paragraf (id),
    absatz TEXT NOT NULL,
    titel TEXT NOT NULL,
    text TEXT NOT NULL,
    stand TEXT NOT NULL,
    von TEXT NOT NULL,
    bis TEXT
);
CREATE INDEX norm_paragraf ON norm (paragraf);

-- Words seen three times or more, by which compounds are split.
CREATE TABLE wort (wort TEXT PRIMARY KEY) WITHOUT ROWID;

-- Stems of the sections as they are now.
CREATE TABLE norm_worte (
    id INTEGER PRIMARY KEY REFERENCES paragraf (id),
    titel TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE VIRTUAL TABLE norm_suche USING fts5 (
    titel, text, content = 'norm_worte', content_rowid = 'id', tokenize = 'unicode61'
);
