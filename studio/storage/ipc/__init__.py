"""Communication between programs that share one data folder: registry, notices, approvals.

- ``change_notifier``: tells other programs with the same data that something has changed.
- ``process_registry``: knows which of the programs that opened a database still run.
- ``remote_approvals``: ask the person in an open window, for a program without one (T-7).
"""
