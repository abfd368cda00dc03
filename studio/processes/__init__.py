"""Child processes: starts, marks, sandboxes and ends them.

- ``bubblewrap``: makes the arguments of ``bwrap``, which runs a command in namespaces, on Linux.
- ``command_start``: begins a command in the sandbox, with pipes or a terminal as its streams.
- ``command_streams``: what a command reads and prints, by pipes or a terminal.
- ``daemon_thread``: runs code that may never end, and signals it to stop.
- ``desk``: copies a folder for a command, so that the folder stays as it is.
- ``environment``: cleans that of child processes of keys, tokens and passwords (P-4).
- ``git_hooks_guard``: protects the hooks and configuration of git, which would make it run programs
  later, outside the sandbox.
- ``job_object``: starts processes that end with everything they started, on Windows.
- ``jobs``: keeps commands that go on in the background of a chat.
- ``keeper``: starts processes that end with everything they started, by way of its process.
- ``keeper_process``: the small process that outlives a killed program, and finds and kills what its
  commands left, on Linux and macOS.
- ``piped_command``: runs a command that is given something and answers on two streams.
- ``sandbox``: finds out which sandbox works here, and explains what it blocked.
- ``sandbox_mounts``: lists what a sandboxed command sees of the computer, and what is hidden.
- ``seatbelt``: makes the profile of ``sandbox-exec``, which runs a command, on macOS.
- ``shell_command``: runs a command line, and has the keeper end it (L-11).
- ``windows_terminal``: begins a command in a terminal of Windows (C-14).
"""
