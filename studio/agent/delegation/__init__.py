"""Delegation: an agent has others do tasks, each in a session of its own (W-32).

- ``tree``: Says how many agents may begin one another in a turn, and what share each gets.
- ``offers``: Tells whom an agent may start, and makes the tools for it.
- ``board``: Lets agents of one run or chat share texts, messages and tasks (W-40).
- ``children``: Starts children for calls, waits for them, and tells and stops them.
- ``child``: Runs one child to its end.
- ``child_desk``: Lets a child in the background work on a copy of the folder.
- ``session_tree``: Lists who works for a session, and for these, with their cost.
- ``report``: Makes the result of a child: its answer and how it ended.
"""
