-- What a person may see is found without looking at each Akte.
CREATE INDEX akte_anwalt ON akte (anwalt);
CREATE INDEX akte_sachbearbeiter ON akte (sachbearbeiter);
CREATE INDEX akte_dezernat ON akte (dezernat) WHERE dezernat != '';
CREATE INDEX zugriff_person ON zugriff (person, akte);
