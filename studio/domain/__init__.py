"""Domain: plain values that every other room speaks of, with the standard library alone.

- ``agents``: describe a model with instructions, tools and limits.
- ``aio``: run work to its end, also when nobody waits for it any more.
- ``blocks``: hold what a person sees, one block for each thing.
- ``codec``: writes events and messages as JSON objects, and reads them back.
- ``drafts``: describe changes of files and of records that wait for the person (T-5).
- ``errors``: one tree, split by whether a model or a person reads them.
- ``events``: say what happens in a turn, as a tagged union of small frozen values (L-2).
- ``jsonvalue``: the type of what came from JSON, its readers, and repair of what cannot be sent.
- ``ledger``: identifies what was sent by hash chains, with its cache figures (H-9).
- ``messages``: hold what is said, as blocks that are pure values (H-2).
- ``models``: describe what one can do, what it used and what that costs.
- ``permissions``: rules by tool and argument pattern, questions and answers (T-7).
- ``redaction``: removes keys, tokens and passwords from what is kept, shown or sent (L-15).
- ``sessions``: describe a saved conversation with its folder, agent and model.
- ``tool_call_state``: folds events about tool calls into blocks.
- ``tools``: describe to a model what tools are called and what they take.
- ``transcript``: folds events into the blocks that a person sees and that are saved.
"""
