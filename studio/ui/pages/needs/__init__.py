"""The page Needs you: everything that waits for the person, at one place (W-22).

- ``waiting``: Finds and counts the open questions of chats, of agents that work for them, and of
  runs; free of Qt.
- ``choice_card``: The question with its answers.
- ``page``: Lists them, and takes the answers.
"""
