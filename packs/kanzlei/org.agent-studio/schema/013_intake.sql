-- What was read in from elsewhere, so that it can be undone.
CREATE TABLE einlesung (
    id INTEGER PRIMARY KEY,
    zeit TEXT NOT NULL,
    person INTEGER NOT NULL REFERENCES person (id),
    quelle TEXT NOT NULL,
    zurueckgenommen TEXT
);
CREATE TABLE einlesung_dokument (
    einlesung INTEGER NOT NULL REFERENCES einlesung (id),
    dokument INTEGER NOT NULL,
    PRIMARY KEY (einlesung, dokument)
) WITHOUT ROWID;
