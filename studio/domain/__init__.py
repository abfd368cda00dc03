"""Domain: the plain values that all rooms share; it imports only the standard library.

- ``agents``: Describes an agent: instructions, model, tools, limits and role.
- ``aio``: Runs background tasks to their end, even if their caller is cancelled.
- ``blocks``: Describes the blocks of a transcript, and makes messages of them.
- ``boards``: Describes what agents of one run or chat keep for one another (W-40).
- ``codec``: Writes events and messages as JSON objects for the disk, and reads them back.
- ``drafts``: Describes changes of files and of records that wait for the person (T-5).
- ``errors``: Defines the tree of errors, split by whether a model or a person reads them.
- ``evals``: Describes evals: cases, variants and graders, and what came of them (W-58).
- ``events``: Defines the events of a turn, as a tagged union of small frozen values (L-2).
- ``exchanges``: Describes what went to a provider and what came back (W-27).
- ``extensions``: Describes skills and commands, and what is wrong with their files.
- ``extras``: Says how a part of the program that not everybody has is installed.
- ``forms``: Reads the fields of a form from a schema, and checks what is filled in (M-19).
- ``hooks``: Commands that are told of what a chat does, and which of them count.
- ``items``: Describes what a step does once for each of very many values (W-53).
- ``jsonvalue``: Defines JSON values, reads JSON of unknown shape, and repairs text that
  cannot be sent.
- ``ledger``: Identifies requests by hash chains, and describes their usage and cost (H-9).
- ``line_changes``: Finds which lines differ between two texts, in bounded time.
- ``messages``: Defines messages and their blocks as pure values (H-2).
- ``models``: Describes models, their usage, and the options of a generation.
- ``notebooks``: Shows the cells of a notebook as one text, and takes such a text back (C-9).
- ``patterns``: Compiles regular expressions when they are first used.
- ``pack_addresses``: Tells addresses of things of packs (KZ-8).
- ``persons``: Describes who works with the studio, as packs see it.
- ``plans``: Describes what an agent is going to do, and how far it is (C-2).
- ``permissions``: Defines rules such as ``run(git *)`` and what they match, questions and answers
  (T-7).
- ``python_syntax``: Parses Python, also beside other threads that do.
- ``questions``: Describes what an agent or a server asks the person (C-24, M-19).
- ``records``: Makes data classes whose methods are made when they are first used.
- ``redaction``: Removes keys, tokens and passwords from logs, errors, traces and records (L-15).
- ``run_events``: Defines what happens in a run of a workflow, and what a run asks the person.
- ``runs``: Folds the events of a run into the state of its steps (W-18).
- ``secret_names``: Tells by a variable's name whether its value is a secret (P-4).
- ``server_names``: How the names of a server's tools begin, and which server a pattern means (M-9).
- ``sessions``: Describes the rows of the lists of sessions and drafts, and makes a first title of
  what the person says.
- ``tool_call_state``: Folds events about tool calls into blocks.
- ``tools``: Describes tools: what a model reads about them, and what they do.
- ``transcript``: Folds events into the blocks of a transcript.
- ``workflows``: Describes workflows and their steps.
"""
