-- The decisions that rechtsprechung-im-internet.de lists, so that one is found here and loaded alone.
CREATE TABLE verzeichnis (
    adresse TEXT PRIMARY KEY,
    gericht TEXT NOT NULL,
    tag TEXT NOT NULL,
    az TEXT NOT NULL,
    az_schluessel TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX verzeichnis_tag ON verzeichnis (tag);
CREATE TABLE verzeichnis_stand (tag TEXT NOT NULL);
