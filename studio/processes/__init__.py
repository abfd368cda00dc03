"""Child processes: starts, marks, sandboxes and ends them.

- ``bubblewrap``: runs commands in their own namespaces, on Linux.
- ``daemon_thread``: run code that may never end, and signal it to stop.
- ``git_hooks_guard``: protects what makes git run programs later, outside of the sandbox.
- ``sandbox``: finds the system's sandbox for commands, and explains what it blocked.
- ``sandbox_mounts``: list what a sandboxed command sees of this computer, and what is hidden.
- ``seatbelt``: runs commands under ``sandbox-exec``, on macOS.
- ``shell_command``: run a command line, and end it with all its children (L-11).
"""
