"""The page Needs you: everything that waits for the person, at one place (W-22).

- ``waiting``: Finds what waits: questions of chats, of those that work for them, and of runs; free
  of Qt.
- ``page``: Lists it, and takes the answers.
"""
