-- Placeholders of an Akte: what stands for whom, in each written form.
CREATE TABLE platzhalter (
    akte INTEGER NOT NULL REFERENCES akte (id),
    name TEXT NOT NULL,
    schluessel TEXT NOT NULL,
    wort TEXT NOT NULL,
    PRIMARY KEY (akte, name),
    UNIQUE (akte, schluessel, wort)
) WITHOUT ROWID;

-- Agreements with providers by § 43e BRAO; ended, never deleted.
CREATE TABLE vereinbarung (
    id INTEGER PRIMARY KEY,
    anbieter TEXT NOT NULL,
    tag TEXT NOT NULL,
    unterauftragnehmer TEXT NOT NULL,
    land TEXT NOT NULL,
    fundstelle TEXT NOT NULL,
    person INTEGER NOT NULL REFERENCES person (id),
    zeit TEXT NOT NULL,
    beendet TEXT
);
