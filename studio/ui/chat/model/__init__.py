"""The model of the chat pane, free of Qt: what it shows and what a person can do there.

Widgets read it, call its methods and listen to ``ChatModel.subscribe``. Each part
has one concern and the open chat; none imports a widget. The way of a message:
``ChatModel.submit``, ``MessageInput.send``, ``TurnRunner.start``, ``Session.turn``; what
happens then comes back as a ``Change`` for each event.

- ``chat_model`` puts the parts together, opens chats and says what is special about one.
- ``open_chat`` holds the session on screen, calls listeners, and follows a chat that another
  program continues.
- ``session_options`` keeps agent, model, permission mode and folder, and makes the session.
- ``model_choices`` lists the models that a chat can be given.
- ``attachments`` reads attached files and asks whether the model takes them.
- ``message_input`` keeps the message that is being written, and sends it.
- ``open_word`` finds the mention or the command that is being typed.
- ``spelling`` finds the words that no dictionary of the person knows.
- ``enchant`` asks the system's dictionaries.
- ``prompt_history`` walks through earlier messages.
- ``recent_chats`` keeps the chats open that were on screen last.
- ``versions`` knows the versions of messages and answers, and shows another.
- ``unsent`` keeps what is written in each chat, also while the program does not run.
- ``message_queue`` keeps the messages that wait while a turn runs.
- ``turn_runner`` runs the turns of all sessions.
- ``recovery`` retries, raises limits, compacts and branches where a chat cannot simply go on.
- ``folder_trust`` finds out whether the chat's folder has to be trusted.
- ``transcript_actions`` answers questions, decides drafts, undoes and redoes the file changes
  of turns, makes and undoes summaries, and pins messages.
"""
