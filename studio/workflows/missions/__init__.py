"""Missions: runs in cycles, which end when the person's checks pass and for no other reason.

A mission is a run of a workflow with ``done_when``. Each cycle does all of its steps once more in
new sessions, and looks at the checks after them. ``runner`` and ``open_run`` above carry it out,
steer it and take it over as any run.

- ``mission_files``: The text that a mission runs by, of a workflow's file or an agent's; requires a
  limit.
- ``check_keys``: Reads ``done_when`` of a file.
- ``check_scripts``: Which files of the folder checks run, and which of these changed.
- ``check_steps``: Makes steps of checks, and tells which of them pass.
- ``cycles``: Tells what follows a cycle: the end, a pause by a limit or without progress, or the
  next one.
- ``brief``: What a session of a cycle is told before its prompt: checks, limits, tasks, notes.
- ``mission_log``: Tells what a mission did, cycle by cycle, for the person to read.
"""
