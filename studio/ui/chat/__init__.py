"""The chat pane: widgets that show the model in ``model`` and pass on what a person does.

- ``model`` holds the state of the pane and what can be done in it, free of Qt.
- ``page`` puts the widgets together and shows one chat or a new one.
- ``layout`` places them.
- ``header`` shows title, folder and origin of the chat.
- ``composer`` is where a person types, with Send or Stop.
- ``option_menus`` fills the composer's menus of agents, models, modes and folders.
- ``attachments`` shows the attached files and takes dropped and pasted ones.
- ``queue_view`` shows the messages that wait while a turn runs.
- ``status_strip`` says what is out of the ordinary with the chat.
- ``suggestions`` offers ways to begin a new chat.
- ``folder_trust`` asks whether a folder is to be trusted.
- ``text_editor`` is a dialog in which a draft or a summary is changed.
- ``file_viewer`` opens files in the system's own program.
"""
