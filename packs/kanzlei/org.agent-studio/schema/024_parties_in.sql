-- Who was brought into an Akte that was there, by a message that was read in.
CREATE TABLE einlesung_beteiligung (
    einlesung INTEGER NOT NULL REFERENCES einlesung (id),
    akte INTEGER NOT NULL,
    beteiligung INTEGER NOT NULL,
    PRIMARY KEY (einlesung, beteiligung)
) WITHOUT ROWID;
