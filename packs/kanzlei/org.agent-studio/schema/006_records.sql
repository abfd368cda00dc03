-- What is drafted, and what comes of it: time, notes, alerts. Persons, firms and who takes part in an Akte.
CREATE TABLE entwurf (
    id TEXT PRIMARY KEY,
    akte INTEGER NOT NULL REFERENCES akte (id),
    art TEXT NOT NULL,
    zustand TEXT NOT NULL CHECK (
        zustand IN ('PENDING', 'APPROVED', 'REJECTED', 'SUPERSEDED', 'CONFLICT', 'UNDONE')
    ),
    titel TEXT NOT NULL,
    text TEXT NOT NULL,
    felder TEXT NOT NULL,
    grund TEXT NOT NULL DEFAULT '',
    bearbeitet_aus TEXT,
    unterschied TEXT NOT NULL DEFAULT '',
    gefragt_von INTEGER NOT NULL REFERENCES person (id),
    angelegt TEXT NOT NULL,
    entschieden TEXT,
    entschieden_von INTEGER REFERENCES person (id)
);
CREATE INDEX entwurf_akte ON entwurf (akte, zustand);
CREATE INDEX entwurf_offen ON entwurf (zustand, art);

CREATE TABLE zeit (
    id INTEGER PRIMARY KEY,
    akte INTEGER NOT NULL REFERENCES akte (id),
    person INTEGER NOT NULL REFERENCES person (id),
    datum TEXT NOT NULL,
    minuten INTEGER NOT NULL CHECK (minuten BETWEEN 1 AND 1440),
    text TEXT NOT NULL,
    abrechenbar INTEGER NOT NULL,
    abgerechnet TEXT,
    angelegt TEXT NOT NULL,
    entwurf TEXT UNIQUE
);
CREATE INDEX zeit_akte ON zeit (akte, datum);

CREATE TABLE notiz (
    id INTEGER PRIMARY KEY,
    akte INTEGER NOT NULL REFERENCES akte (id),
    person INTEGER NOT NULL REFERENCES person (id),
    text TEXT NOT NULL,
    angelegt TEXT NOT NULL,
    entwurf TEXT UNIQUE
);
CREATE INDEX notiz_akte ON notiz (akte, id);

CREATE TABLE alert (
    id INTEGER PRIMARY KEY,
    akte INTEGER NOT NULL REFERENCES akte (id),
    person INTEGER NOT NULL REFERENCES person (id),
    faellig TEXT NOT NULL,
    stufe TEXT NOT NULL CHECK (stufe IN ('Hinweis', 'wichtig', 'dringend')),
    text TEXT NOT NULL,
    erledigt TEXT,
    angelegt TEXT NOT NULL,
    entwurf TEXT UNIQUE
);
CREATE INDEX alert_offen ON alert (erledigt, faellig);

-- The version that a draft made, and the bytes that a document had before it.
ALTER TABLE version ADD COLUMN entwurf TEXT;
CREATE TABLE vorher (
    entwurf TEXT PRIMARY KEY,
    daten BLOB NOT NULL
);

CREATE TABLE termin (
    id INTEGER PRIMARY KEY,
    akte INTEGER NOT NULL REFERENCES akte (id),
    art TEXT NOT NULL,
    beginn TEXT NOT NULL,
    ende TEXT,
    ort TEXT NOT NULL DEFAULT '',
    text TEXT NOT NULL DEFAULT '',
    zustand TEXT NOT NULL DEFAULT 'offen' CHECK (zustand IN ('offen', 'wahrgenommen', 'abgesagt')),
    person INTEGER NOT NULL REFERENCES person (id)
);
CREATE INDEX termin_beginn ON termin (zustand, beginn);
CREATE INDEX termin_akte ON termin (akte, beginn);

CREATE TABLE aufgabe (
    id INTEGER PRIMARY KEY,
    akte INTEGER NOT NULL REFERENCES akte (id),
    text TEXT NOT NULL,
    faellig TEXT,
    person INTEGER NOT NULL REFERENCES person (id),
    erledigt TEXT,
    notiz TEXT NOT NULL DEFAULT '',
    angelegt TEXT NOT NULL
);
CREATE INDEX aufgabe_offen ON aufgabe (erledigt, faellig);
CREATE INDEX aufgabe_akte ON aufgabe (akte);

CREATE TABLE kontakt (
    id INTEGER PRIMARY KEY,
    art TEXT NOT NULL DEFAULT 'Person' CHECK (art IN ('Person', 'Firma', 'Gericht', 'Behörde')),
    anrede TEXT NOT NULL DEFAULT '',
    titel TEXT NOT NULL DEFAULT '',
    vorname TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL,
    fruehere_namen TEXT NOT NULL DEFAULT '',
    geboren TEXT,
    strasse TEXT NOT NULL DEFAULT '',
    plz TEXT NOT NULL DEFAULT '',
    ort TEXT NOT NULL DEFAULT '',
    land TEXT NOT NULL DEFAULT '',
    weitere_anschriften TEXT NOT NULL DEFAULT '',
    telefon TEXT NOT NULL DEFAULT '',
    email TEXT NOT NULL DEFAULT '',
    iban TEXT NOT NULL DEFAULT '',
    kennzeichen TEXT NOT NULL DEFAULT '',
    angelegt TEXT NOT NULL
);
CREATE INDEX kontakt_name ON kontakt (name);

-- The names of a contact, folded and as they sound, by which conflicts are found.
CREATE TABLE kontakt_schluessel (
    schluessel TEXT NOT NULL,
    kontakt INTEGER NOT NULL REFERENCES kontakt (id),
    PRIMARY KEY (schluessel, kontakt)
) WITHOUT ROWID;
CREATE INDEX kontakt_schluessel_kontakt ON kontakt_schluessel (kontakt);

CREATE TABLE beteiligung (
    id INTEGER PRIMARY KEY,
    akte INTEGER NOT NULL REFERENCES akte (id),
    kontakt INTEGER NOT NULL REFERENCES kontakt (id),
    rolle TEXT NOT NULL CHECK (
        rolle IN (
            'Mandant', 'Gegner', 'Anwalt', 'Gericht', 'Versicherung', 'Zeuge', 'Sachverständiger',
            'Vertreter', 'Dritter'
        )
    ),
    seite TEXT NOT NULL DEFAULT '' CHECK (seite IN ('', 'Mandant', 'Gegner')),
    vertreten_durch INTEGER REFERENCES kontakt (id),
    zeichen TEXT NOT NULL DEFAULT '',
    UNIQUE (akte, kontakt, rolle)
);
CREATE INDEX beteiligung_kontakt ON beteiligung (kontakt);
CREATE INDEX beteiligung_vertreter ON beteiligung (vertreten_durch);

-- What a conflict check asked and found, on its day.
CREATE TABLE konflikt (
    id INTEGER PRIMARY KEY,
    zeit TEXT NOT NULL,
    person INTEGER NOT NULL REFERENCES person (id),
    akte INTEGER REFERENCES akte (id),
    kontakt INTEGER REFERENCES kontakt (id),
    seite TEXT NOT NULL DEFAULT '',
    gefragt TEXT NOT NULL,
    treffer TEXT NOT NULL
);
CREATE INDEX konflikt_akte ON konflikt (akte);
