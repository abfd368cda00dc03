-- The requests of the last hour of persons whose role has a limit, in seconds since 1970.
CREATE TABLE anfrage (person INTEGER NOT NULL, zeit REAL NOT NULL);
CREATE INDEX anfrage_zeit ON anfrage (person, zeit);
