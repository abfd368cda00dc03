"""Agents in markdown files: how they are found, read, checked, changed and kept.

- ``finder``: Finds agents in markdown files, and writes a template for a new one.
- ``parser``: Parses one agent file, a stranger's too; finds unknown, wrong, repeated keys.
- ``keys``: Lists the keys of an agent file, and reads and checks the value of each.
- ``foreign``: Reads the agent files of Claude Code, and of VS Code and Copilot.
- ``name_check``: Adds to all that ``parser`` finds the names of tools and agents that do not exist.
- ``edit``: Changes one value in the text of an agent file, and none of its other words.
- ``library``: Saves, copies, deletes and restores agent files, and keeps unsaved texts.
"""
