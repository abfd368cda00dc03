"""The page Needs you: everything that waits for the person, at one place (W-22).

- ``waiting``: Finds and counts the open questions of chats, of agents that work for them, and of
  runs; free of Qt.
- ``choice_card``: The question with its answers.
- ``asker``: Who asks, as a tree with what is known of each.
- ``calls_before``: What who asks did just before.
- ``path_line``: The way to who asks, in the head.
- ``waiting_list``: The rows of what waits.
- ``page``: Lists them, and takes the answers.
"""
