"""Processes.

- ``bubblewrap``: Commands in bubblewrap.
- ``daemon_thread``: Work in threads.
- ``git_hooks_guard``: What in a git repository makes programs run later, outside of the
  sandbox.
- ``sandbox``: Where commands are run.
- ``sandbox_mounts``: What a sandboxed command sees of this computer, and what it does not.
- ``seatbelt``: Commands under ``sandbox-exec``, on macOS.
- ``shell_command``: Child processes that end with all their children (L-11).
"""
