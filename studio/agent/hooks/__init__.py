"""Hooks: tells commands of the person's and of a folder's what a chat does, and hears them (K-8).

The files that name them are read, and what the person approved is kept, in
``studio.extensions.hooks``.

- ``content``: Finds the files that a hook runs, and sums up what the person approves.
- ``matching``: Says whether a hook is for a tool.
- ``claude_calls``: Puts our calls into Claude Code's words, and back.
- ``answers``: Reads what a hook says.
- ``running``: Runs the hooks of one event side by side, in the sandbox.
- ``turn_hooks``: Runs hooks at the points of a turn, and does what they say.
"""
