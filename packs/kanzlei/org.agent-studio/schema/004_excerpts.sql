-- Laws of which only an excerpt is in the store, and hints at what of a section is old.
ALTER TABLE gesetz ADD COLUMN auszug INTEGER NOT NULL DEFAULT 0;
ALTER TABLE paragraf ADD COLUMN hinweis TEXT NOT NULL DEFAULT '';
