"""The model of the chat pane, free of Qt: what it shows and what a person can do there.

Widgets read it, call its methods and listen to ``ChatModel.subscribe``. Each
part keeps one concern and knows the open chat; none knows a widget.

- ``chat_model`` puts the parts together and opens chats; what the pane says about a chat.
- ``open_chat`` holds the session on screen and the engine, and tells listeners of changes.
- ``session_options`` keeps agent, model, permission mode and folder.
- ``attachments`` reads attached files and asks whether the model takes them.
- ``message_input`` keeps the message that is being written.
- ``send`` sends it: the first message makes the session.
- ``message_queue`` keeps the messages that wait while a turn runs.
- ``turn_runner`` runs the turns of all sessions.
- ``recovery`` retries, raises limits, compacts and branches where a chat cannot simply go on.
- ``external_changes`` follows a chat that another program continues.
- ``folder_trust`` finds out whether the chat's folder has to be trusted.
- ``context_actions`` makes, edits and undoes summaries and pins messages.
- ``turn_undo`` undoes and redoes the file changes of turns.
"""
