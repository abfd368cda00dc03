"""Loop.

- ``loop_guard``: Notices that an agent goes round in circles (L-8).
- ``model_request``: One step's request, until its reply is whole.
- ``prompts``: The words that models read.
- ``structured_output``: Answers that have to fit a JSON schema.
- ``tool_runner``: Runs the calls of one reply.
- ``turn``: The loop.
- ``user_messages``: What the person is told of an error.
"""
