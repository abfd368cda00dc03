-- Akten that were read in, with the last line of the history that came with each.
CREATE TABLE einlesung_akte (
    einlesung INTEGER NOT NULL REFERENCES einlesung (id),
    akte INTEGER NOT NULL,
    verlauf INTEGER NOT NULL,
    PRIMARY KEY (einlesung, akte)
) WITHOUT ROWID;
