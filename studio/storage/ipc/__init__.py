"""Ipc.

- ``change_notifier``: One program tells the others at the same data that something of theirs
  has changed.
- ``file_lock``: Locks on open files; the system lets go of them however a program ends.
- ``process_registry``: Which of the programs that opened a database are still running.
- ``remote_approvals``: What a program without a window has to ask the person, put to a window
  (T-7).
"""
