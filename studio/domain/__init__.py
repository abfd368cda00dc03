"""Plain words that every other room speaks: values, events, one fold.

- ``agents``: An agent.
- ``aio``: Work that runs to its end, also when nobody waits for it any more.
- ``blocks``: What a transcript is made of.
- ``blocks_to_messages``: The conversation as values, made of what a person sees (H-7).
- ``codec``: Events and messages as JSON objects and back.
- ``envelope``: The envelope of an event: which run, agent and step it comes from.
- ``errors``: The error tree, split by reader.
- ``events``: What happens in a turn.
- ``jsonvalue``: The type of a value that came from JSON.
- ``ledger``: What was sent, in a form that can be compared.
- ``messages``: What is said.
- ``models``: Models.
- ``permissions``: Permission.
- ``redaction``: Taking keys, tokens and passwords out of what is kept, shown or sent (L-15).
- ``sessions``: A session.
- ``tool_call_state``: The fold of everything about tool calls.
- ``tools``: Tools as the loop sees them.
- ``transcript``: The one fold from events to what a person sees and saves.
"""
