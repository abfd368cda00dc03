-- Decisions of a collection that is not official: where they are from, and the day of their last change there.
ALTER TABLE entscheidung ADD COLUMN quelle TEXT NOT NULL DEFAULT '';
ALTER TABLE entscheidung ADD COLUMN stand TEXT NOT NULL DEFAULT '';
