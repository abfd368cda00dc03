-- Counts changes of Kontakte, so that a mask knows whether it knows them all.
CREATE TABLE kontakt_stand (zahl INTEGER NOT NULL);
INSERT INTO kontakt_stand VALUES (0);
CREATE TRIGGER kontakt_neu AFTER INSERT ON kontakt BEGIN
    UPDATE kontakt_stand SET zahl = zahl + 1;
END;
CREATE TRIGGER kontakt_anders AFTER UPDATE ON kontakt BEGIN
    UPDATE kontakt_stand SET zahl = zahl + 1;
END;
CREATE TRIGGER kontakt_weg AFTER DELETE ON kontakt BEGIN
    UPDATE kontakt_stand SET zahl = zahl + 1;
END;
