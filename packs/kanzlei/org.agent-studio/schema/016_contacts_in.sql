-- Contacts that were read in, and to which field each column of a table went, by its head.
CREATE TABLE einlesung_kontakt (
    einlesung INTEGER NOT NULL REFERENCES einlesung (id),
    kontakt INTEGER NOT NULL,
    PRIMARY KEY (einlesung, kontakt)
) WITHOUT ROWID;
CREATE TABLE einlesung_spalten (
    kopf TEXT PRIMARY KEY,
    zuordnung TEXT NOT NULL
) WITHOUT ROWID;
