"""The chat pane: widgets that show ``model`` and call it for what a person does.

- ``model`` holds the state of the pane and what can be done in it, free of Qt.
- ``page`` makes the widgets and shows one chat or a new one.
- ``layout`` places the widgets.
- ``header`` shows title, folder and origin of the chat.
- ``composer`` is where a person types, with Send or Stop.
- ``spell_check`` marks misspelt words in the composer, and offers others.
- ``option_menus`` fills the composer's menus of agents, models, modes and folders.
- ``model_picker`` is the list in which a model is looked for and chosen.
- ``attachments`` shows the attached files and takes dropped and pasted ones.
- ``find_strip`` is where words are looked for in the chat.
- ``job_view`` shows the commands that go on in the background.
- ``server_card`` shows what a server asks during a call.
- ``pack_sources`` looks up what the addresses of packs in the chat lead to.
- ``prompt_dialog`` asks for the arguments of a prompt of a server.
- ``subject`` shows what the chat is about, a thing of a pack.
- ``queue_view`` shows the messages that wait while a turn runs.
- ``agents`` keeps up who works for the chat, for a tree of facts and a graph.
- ``plan_strip`` shows what the agent does now, and how far its plan is.
- ``status_strip`` shows what is out of the ordinary with the chat.
- ``suggestions`` offers ways to begin a new chat.
- ``dialogs`` has a draft or a summary edited, and asks whether a folder is to be trusted.
- ``file_viewer`` opens files in the system's own program.
"""
