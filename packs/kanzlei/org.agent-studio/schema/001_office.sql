-- Persons, Akten, Fristen, and what was changed by whom. Money in cents, days as 2026-03-02, times in UTC.
CREATE TABLE person (
    id INTEGER PRIMARY KEY,
    login TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    rolle TEXT NOT NULL CHECK (
        rolle IN ('ADMIN', 'ANWALT', 'SACHBEARBEITER', 'SEKRETARIAT', 'PRAKTIKANT')
    ),
    dezernat TEXT NOT NULL DEFAULT ''
);

CREATE TABLE akte (
    id INTEGER PRIMARY KEY,
    az TEXT NOT NULL UNIQUE,
    lfd INTEGER NOT NULL,
    jahr INTEGER NOT NULL,
    rubrum TEXT NOT NULL,
    sachgebiet TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'laufend' CHECK (status IN ('laufend', 'ruhend', 'abgelegt')),
    wert_cent INTEGER,
    mandat_seit TEXT,
    gericht TEXT NOT NULL DEFAULT '',
    gericht_ort TEXT NOT NULL DEFAULT '',
    gericht_az TEXT NOT NULL DEFAULT '',
    anwalt INTEGER REFERENCES person (id),
    sachbearbeiter INTEGER REFERENCES person (id),
    dezernat TEXT NOT NULL DEFAULT '',
    ki_modus TEXT NOT NULL DEFAULT 'lokal' CHECK (
        ki_modus IN ('lokal', 'pseudonym', 'frei', 'keine KI')
    ),
    gesperrt INTEGER NOT NULL DEFAULT 0,
    angelegt TEXT NOT NULL,
    beendet TEXT
);
CREATE UNIQUE INDEX akte_lfd ON akte (jahr, lfd);

CREATE TABLE zugriff (
    akte INTEGER NOT NULL REFERENCES akte (id),
    person INTEGER NOT NULL REFERENCES person (id),
    PRIMARY KEY (akte, person)
);

CREATE TABLE frist (
    id INTEGER PRIMARY KEY,
    akte INTEGER NOT NULL REFERENCES akte (id),
    art TEXT NOT NULL,
    norm TEXT NOT NULL,
    eingaben TEXT NOT NULL,
    ende TEXT NOT NULL,
    vorfrist TEXT,
    notfrist INTEGER NOT NULL,
    schritte TEXT NOT NULL,
    hinweise TEXT NOT NULL,
    grund TEXT NOT NULL DEFAULT '',
    genannt TEXT,
    zustand TEXT NOT NULL DEFAULT 'berechnet' CHECK (
        zustand IN ('berechnet', 'geprüft', 'erledigt', 'storniert')
    ),
    eingetragen_von INTEGER NOT NULL REFERENCES person (id),
    notiz TEXT NOT NULL DEFAULT '',
    entwurf TEXT NOT NULL UNIQUE
);
CREATE INDEX frist_ende ON frist (zustand, ende);
CREATE INDEX frist_akte ON frist (akte, ende);

CREATE TABLE verlauf (
    id INTEGER PRIMARY KEY,
    akte INTEGER REFERENCES akte (id),
    zeit TEXT NOT NULL,
    person INTEGER NOT NULL REFERENCES person (id),
    was TEXT NOT NULL,
    zeile INTEGER NOT NULL,
    feld TEXT NOT NULL,
    alt TEXT,
    neu TEXT,
    entwurf TEXT
);
CREATE INDEX verlauf_akte ON verlauf (akte, id);
