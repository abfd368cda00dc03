"""Many agents, in markdown.

- ``reader``: Makes a workflow of the text of its file, and the JSON Schema of the format.
- ``value_readers``: Read the values of a workflow's keys from YAML, each with its schema.
- ``workflow_check``: Finds all that is wrong in the text of a workflow's file.
- ``graph``: Tells which steps each step needs.
- ``workflow_files``: Finds the files of workflows in their places.
- ``expressions``: Compute values from inputs and from results of steps.
- ``file_reads``: Brings expressions what they read in the folder, without blocking.
- ``plan``: Tells what happens next in a run.
- ``editing``: Changes steps in the text of a file, and none of its other words.
- ``breakpoints``: Tell where a run stops for the person.
- ``runner``: Carries out one run, as its plan says.
- ``run_accounts``: What a run and its steps may use, and have used.
- ``run_questions``: What the sessions of a run ask, and the runs below it.
- ``instant_steps``: What comes of steps that take no time.
- ``step_tasks``: The work on steps that is under way.
- ``step_work``: Does the tries of an agent's or a command's step in sessions of their own.
- ``command_line``: Puts values into a command so that a shell never carries them out.
- ``unsure``: Finds what a try was in the middle of when the program ended.
- ``fork``: Plans a run that repeats another one from some step on.
- ``compare``: Tells what differs between two runs.
- ``child_runs``: Begins and opens the runs of steps that are workflows themselves.
- ``run_files``: Finds the file of a workflow, checks it, and fits a run's inputs to it.
- ``run_parts``: Tells which agents and tools a run began with, and what has changed.
- ``desk``: Lets steps that write see their own changes on a copy, and merges them.
- ``bundle``: Writes a recorded run to one file, and reads it.
- ``replay``: Does a recorded run again without keys and network, and compares.
- ``workflow_runs``: Finds workflows, begins their runs and goes on with stored ones.
"""
