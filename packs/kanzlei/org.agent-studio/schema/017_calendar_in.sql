-- Termine and Aufgaben that were read in.
CREATE TABLE einlesung_eintrag (
    einlesung INTEGER NOT NULL REFERENCES einlesung (id),
    was TEXT NOT NULL CHECK (was IN ('termin', 'aufgabe')),
    zeile INTEGER NOT NULL,
    PRIMARY KEY (einlesung, was, zeile)
) WITHOUT ROWID;
