"""Missions: runs in cycles, which end when the person's checks pass and for no other reason.

A mission is a run of a workflow with ``done_when``. Each cycle does all of its steps once more in
new sessions, and looks at the checks after them.

- ``check_keys``: Reads ``done_when`` of a file.
- ``check_steps``: Makes steps of checks, and tells which of them pass.
- ``mission_files``: The text that a mission runs by, of a workflow's file or an agent's.
- ``cycles``: Tells what follows a cycle: the end, a pause or the next one.
- ``brief``: What a session of a cycle is told.
- ``ledger``: Writes down what a mission did, for the person.
"""
