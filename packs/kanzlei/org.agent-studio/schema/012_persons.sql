-- Passwords by scrypt, wrong tries, and who signed in for which account of the computer.
ALTER TABLE person ADD COLUMN passwort TEXT NOT NULL DEFAULT '';
ALTER TABLE person ADD COLUMN fehler INTEGER NOT NULL DEFAULT 0;
ALTER TABLE person ADD COLUMN fehler_zeit TEXT NOT NULL DEFAULT '';
ALTER TABLE person ADD COLUMN gegangen TEXT;

CREATE TABLE anmeldung (
    konto TEXT PRIMARY KEY,
    person INTEGER NOT NULL REFERENCES person (id),
    bis TEXT NOT NULL
);
