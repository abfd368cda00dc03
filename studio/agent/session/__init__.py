"""Session.

- ``agent_setup``: What a turn stands on.
- ``context_control``: What the model keeps of a conversation, as the person wants it (L-10).
- ``event_channel``: Delivers each event, in its envelope, once to every subscriber.
- ``import_export``: Conversations in files.
- ``import_formats``: Conversations as other programs export them.
- ``model_router``: Which model works on a message, and whether the person waits for it; opt-in
  (L-13).
- ``native_history``: A session's native history, in memory and on disk.
- ``pending_input``: What a session's model has not heard yet.
- ``session``: One saved conversation.
- ``session_rules``: The rules of one chat.
- ``sessions``: All sessions.
- ``system_prompt``: What a model has to know beside the conversation, told in words that are
  appended.
- ``titles``: What a chat is called before anybody names it.
- ``tool_access``: What the tools of a turn need.
- ``turn_builder``: How a turn is made.
"""
