"""The model of the chat pane, free of Qt: what it shows and what a person can do there.

Widgets read it, call its methods and listen to ``ChatModel.subscribe``. Each part
has one concern and the open chat; none imports a widget. The way of a message:
``ChatModel.submit``, ``MessageInput.send``, ``TurnRunner.start``, ``Session.turn``; what
happens then comes back as a ``Change`` for each event.

- ``chat_model`` puts the parts together, opens chats, and says what the status strip shows.
- ``open_chat`` holds the session on screen, calls listeners, and follows a chat that another
  program continues.
- ``session_options`` keeps agent, model, permission mode and folder, and makes the session.
- ``model_choices`` lists the models that a chat can be given.
- ``message_input`` is the message in the composer: it takes what is typed, and sends it.
- ``unsent`` keeps the unsent message of each chat (the composer's draft) in memory and on disk.
- ``attachments`` reads attached files and asks whether the model takes them.
- ``open_word`` finds the mention (@) or command (/) that is being typed.
- ``spelling`` finds misspelt words; ``enchant`` asks the system's dictionaries.
- ``prompt_history`` walks through earlier messages, by Up and Down in the composer.
- ``message_queue`` keeps the messages that wait while a turn runs.
- ``turn_runner`` runs the turns of all sessions, and sends again once the network is back.
- ``recovery`` retries, raises limits, compacts and branches where a chat cannot simply go on.
- ``versions`` knows the versions of messages and answers, and shows another.
- ``recent_chats`` keeps the sessions open that were on screen last.
- ``folder_trust`` finds out whether the chat's folder has to be trusted, and trusts it.
- ``transcript_actions`` answers questions, decides drafts, undoes and redoes the file changes
  of turns, makes and undoes summaries, and pins messages.
"""
