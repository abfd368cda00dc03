"""Domain: the plain values that all rooms share; it imports only the standard library.

- ``agents``: Describes an agent: instructions, model, tools, limits and role.
- ``aio``: Runs background tasks to their end, even if their caller is cancelled.
- ``blocks``: Describes the blocks of a transcript, and makes messages of them.
- ``codec``: Writes events and messages as JSON objects, and reads them back.
- ``drafts``: Describes changes of files and of records that wait for the person (T-5).
- ``errors``: Defines the tree of errors, split by whether a model or a person reads them.
- ``events``: Defines the events of a turn, as a tagged union of small frozen values (L-2).
- ``exchanges``: Describes what went to a provider and what came back (W-27).
- ``jsonvalue``: Defines JSON values, reads JSON of unknown shape, and repairs text.
- ``ledger``: Identifies requests by hash chains, and describes their usage and cost (H-9).
- ``line_changes``: Finds which lines differ between two texts, in bounded time.
- ``messages``: Defines messages and their blocks as pure values (H-2).
- ``models``: Describes models, their usage, and the options of a generation.
- ``notebooks``: Shows the cells of a notebook as one text, and takes such a text back (C-9).
- ``plans``: Describes what an agent is going to do, and how far it is (C-2).
- ``permissions``: Defines rules by tool and pattern, questions and answers (T-7).
- ``python_syntax``: Parses Python, also beside other threads that do.
- ``questions``: Describes what an agent asks the person, up to four at once (C-24).
- ``redaction``: Removes keys, tokens and passwords from texts (L-15).
- ``run_events``: Defines what happens in a run of a workflow, and what a run asks the person.
- ``runs``: Folds the events of a run into the state of its steps (W-18).
- ``secret_names``: Tells by a variable's name whether its value is a secret (P-4).
- ``sessions``: Describes the rows of the lists of sessions and drafts, and makes titles.
- ``tool_call_state``: Folds events about tool calls into blocks.
- ``tools``: Describes tools: what a model reads about them, and what they do.
- ``transcript``: Folds events into the blocks of a transcript.
- ``workflows``: Describes workflows and their steps.
"""
