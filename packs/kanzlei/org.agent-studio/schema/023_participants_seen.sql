-- Counts changes of who takes part in Akten, so that it is known whom words can name.
CREATE TABLE beteiligt_stand (zahl INTEGER NOT NULL);
INSERT INTO beteiligt_stand VALUES (0);
CREATE TRIGGER beteiligung_neu AFTER INSERT ON beteiligung BEGIN
    UPDATE beteiligt_stand SET zahl = zahl + 1;
END;
CREATE TRIGGER beteiligung_anders AFTER UPDATE ON beteiligung BEGIN
    UPDATE beteiligt_stand SET zahl = zahl + 1;
END;
CREATE TRIGGER beteiligung_weg AFTER DELETE ON beteiligung BEGIN
    UPDATE beteiligt_stand SET zahl = zahl + 1;
END;
CREATE TRIGGER rubrum_neu AFTER INSERT ON akte BEGIN
    UPDATE beteiligt_stand SET zahl = zahl + 1;
END;
CREATE TRIGGER rubrum_anders AFTER UPDATE OF rubrum ON akte BEGIN
    UPDATE beteiligt_stand SET zahl = zahl + 1;
END;
CREATE TRIGGER rubrum_weg AFTER DELETE ON akte BEGIN
    UPDATE beteiligt_stand SET zahl = zahl + 1;
END;
