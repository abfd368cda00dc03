"""Storage: keeps sessions in SQLite, settings in a file and keys in the system's keychain.

- ``boards``: what agents of a run or a chat keep for one another (W-40).
- ``completion_index``: reads names for shell completion, without opening the database for writing.
- ``config``: settings, permission rules and API keys of the person.
- ``connection``: opens a connection to a SQLite file, migrates it, and says in words what is wrong.
- ``crash_reports``: keeps what an error that nobody caught looked like, for the person to read.
- ``database``: writes one SQLite file in one thread, and reads it in a few.
- ``evals``: evals that ran, and the record of their answers and verdicts (W-58).
- ``exchanges``: what went to providers and came back, for a replay (W-27).
- ``installation``: says how this program was installed, and how it is brought up to date.
- ``migrations``: numbered steps that make the schema of the program's database.
- ``pack_key``: the key of a pack's database that is encrypted (KZ-44).
- ``pack_records``: the database of one pack, made by the pack's numbered steps (X-6).
- ``pack_steps``: the numbered steps of a pack, in SQL or in Python (KZ-4).
- ``paths``: says where data, settings, cache and logs are kept on this computer.
- ``process_registry``: says which of the programs that opened a database still run.
- ``read_only``: reads a database that cannot be written.
- ``recovery``: saves what can be read of a damaged database.
- ``remote_approvals``: asks the person in another program's window (T-7), and notifies programs
  with the same data of changes.
- ``run_items``: the items of steps that have too many for events, and batches at providers.
- ``runs``: saved runs of workflows, each claimed by the program that carries it out.
- ``sessions``: saved sessions: events, native histories, and everything derived from them.
- ``snapshots``: records what a turn changes in files, and restores it.
- ``triggers``: which triggers of workflows are switched on, and how far they have come (W-9).
"""
