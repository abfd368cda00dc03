"""The loop of an agent: one turn from the person's message to the answer.

- ``turn``: Runs the loop as a task; stops it within a second, limits its time, ends it once.
- ``agent_loop``: The loop itself: ask the model, run its tools, until it answers; and that of one
  call, without a model.
- ``model_request``: Sends a request to the model, waits as ``agent.retry_policy`` says where it
  failed, and sends it again.
- ``tool_runner``: Runs the calls of a reply side by side, each with permission; filters their
  results and has long ones cut.
- ``working_calls``: Runs their tools inside their time limits, shows what they print, stops them.
- ``bench``: Where the changes of a turn and of its children go, and how a call drafts there.
- ``foreign_calls``: Understands calls in the words of other programs' tools.
- ``turn_context``: What a turn runs on, how far it is, how it ends; its events and its guards.
- ``guards``: Notice that an agent repeats itself, remind it of its plan, check answers.
- ``wrap_up``: Asks the person for more ahead of a limit, or tells the model to finish.
- ``findings``: What the results of a turn have told so far, and whether another tells more;
  ``guards`` ends a turn by it.
- ``structured_output``: Describes and parses answers that have to fit a JSON schema.
- ``user_messages``: The words that the person reads about errors and ends of turns.
"""
