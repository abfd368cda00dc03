"""Recovery: saves what can be read of a damaged database, and puts it in the file's place.

- ``pages``: reads rows from the pages of a SQLite file and its log, without SQLite.
- ``salvage``: copies what can be read into a sound database, and counts what is lost.
- ``repair``: keeps the damaged file, and replaces its content in one transaction.
"""
