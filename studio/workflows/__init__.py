"""Many agents, in markdown: the files of workflows, and the runs of these.

The file of a workflow:

- ``workflow_files``: Finds the files of workflows in their places.
- ``reader``: Makes a workflow of the text of its file.
- ``workflow_keys``: The tables of what may stand where in a workflow's file, and its JSON Schema.
- ``value_readers``: Read the values of a workflow's keys from YAML, each with its schema.
- ``workflow_check``: Finds all that is wrong in the text of a workflow's file.
- ``editing``: Changes steps in the text of a file, and none of its other words.
- ``imports``: Makes workflows and agents of what people have in other programs.

A run:

- ``workflow_runs``: Begins, finds, opens, stops and deletes runs; a killed one goes on in
  ``runner``.
- ``run_files``: Finds the file of a run, checks it and fits inputs to it; reads a stored run.
- ``child_runs``: Plans and opens the runs of steps that are workflows themselves.
- ``kept_agents``: Keeps the agents that a run began with, and tells what has changed since.
- ``open_run``: A run with those below it, as this program has it: paused, steered, answered,
  stopped, given more.
- ``runner``: Carries out a run: waits, begins what its plan says, and takes up steps that were
  under way when a program was killed.
- ``plan``: Tells what happens next in a run: which step begins, which items of a ``for_each`` with
  up to 50, what is tried again, gone back to or left out, and how the run ends.
- ``graph``: Tells which steps each step needs.
- ``breakpoints``: Tell where a run stops for the person.
- ``run_recorder``: Applies the events of a run, stores them, and tells who listens.
- ``run_accounts``: The caps of a run and of its steps in tokens, money and minutes, and what they
  have used. Each request is held against them in ``agent.budget``.
- ``cap_offers``: Finds what the person may raise where a run is paused at a cap, its own or that of
  a run below it.
- ``run_questions``: What sessions, items and runs below ask the person, as questions of the run.

A step:

- ``step_tries``: Begins a try of a step, or goes on with it after a crash; lets ``approve`` and
  ``ask`` wait for the person, computes ``set`` and ``check``.
- ``step_work``: Runs the turn or the command of a try in its session, and tells how it ended.
- ``step_sessions``: The sessions that steps work in, with the agents that the run began with.
- ``step_tasks``: The work on steps that is under way.
- ``unsure_actions``: Finds what a try was in the middle of when the program ended.
- ``step_values``: Fills values into prompts and texts of steps, and knows which there are.
- ``expressions``: Parse and compute what stands in ``${{ }}``.
- ``file_reads``: Brings expressions what they read in the folder, without blocking.
- ``command_line``: Fills values into a command so that a shell never carries them out.

Folders:

- ``items``: The items of a ``for_each`` with more than 50, or that are read from files: a table of
  up to 100,000, worked on side by side or in batches of the provider.
- ``missions``: Runs in cycles, which end when the person's checks pass.
- ``cluster``: Has other computers send the requests of items.
- ``evals``: Measure agents, models and prompts on cases.

What steps change in the folder:

- ``desk``: Says which steps work on a copy, has their changes merged where they meet, and offers
  them as drafts.
- ``laid_desks``: The copies that steps work on now: lays them, tells what changed there.
- ``change_merge``: Merges what several steps changed, and finds where that clashes.
- ``run_changes``: Lists what the steps of a run changed, by step, and which of it waits.
- ``passed_drafts``: Tells which step passed with all that waits.

Runs that are over:

- ``fork``: Plans a run that repeats another one from some step on.
- ``compare``: Tells what differs between two runs.
- ``agent_lines``: Finds where the instructions of a step stand in the file of its agent.
- ``bundle``: Writes a recorded run to one file, and reads it.
- ``replay``: Does a recorded run again without keys and network, and compares.
- ``session_replay``: Makes the requests of a recorded session again, and reads its answers.
- ``live_reads``: Does the reading calls of a recorded session again in its folder.
- ``live_steps``: Plans the run that does live what a replay found missing.

What begins runs by itself:

- ``workflow_tools``: Does a call of an agent that is a run of a workflow.
- ``triggers``: Tell when a schedule wants a run.
- ``watched_files``: Tells which files that a trigger looks at changed, and who changed them.
- ``trigger_clock``: Begins the runs of triggers while a program is open.
- ``at_login``: Has the system begin that from login on.
"""
