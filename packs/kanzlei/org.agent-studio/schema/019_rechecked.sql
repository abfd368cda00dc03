-- With which holidays the Fristen were computed anew the last time.
CREATE TABLE nachgerechnet (eins INTEGER PRIMARY KEY CHECK (eins = 1), feiertage TEXT NOT NULL);
