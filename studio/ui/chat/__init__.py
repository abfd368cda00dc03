"""The chat pane: widgets that show ``model`` and call it for what a person does.

- ``model`` holds the state of the pane and what can be done in it, free of Qt; what is typed and
  not sent yet is kept there, in ``unsent``.
- ``page`` makes the widgets, connects them, and shows one chat or a new one.
- ``transcript_requests`` opens links, files and paths that are clicked in the transcript, edits
  drafts and summaries in a dialog, and does what the buttons of errors say.
- ``layout`` places the widgets of the pane.
- ``header`` shows title, folder and origin of the chat.
- ``composer`` is the box in which a person types, with Send or Stop.
- ``spell_check`` marks misspelt words in the composer, and offers corrections.
- ``option_menus`` fills the composer's menus of agents, models, modes and folders.
- ``model_picker`` is the list in which a model is looked for and chosen.
- ``attachments`` takes files and pictures that are dropped on the pane or pasted, and shows those
  that are attached.
- ``find_strip`` is the search strip (Ctrl+F) below the header.
- ``status_strip`` shows above the composer what is out of the ordinary, such as a lost connection.
- ``plan_strip`` shows above the composer what the agent does now, and how far its plan is.
- ``handoff_strip`` offers above the composer the agents that may go on after an answer.
- ``queue_view`` shows above the composer the messages that wait while a turn runs.
- ``job_view`` shows above the composer the commands that run in the background.
- ``server_card`` shows above the composer what an MCP server asks during a call.
- ``prompt_dialog`` asks for the arguments of an MCP server's prompt.
- ``child_agents`` follows which agents work for the chat, for the inspector's tree and the graph.
- ``subject`` shows which thing of a pack the chat is about.
- ``pack_sources`` looks up the titles of what addresses of packs in the chat lead to.
- ``suggestions`` offers ways to begin a new chat.
- ``dialogs`` are the dialogs in which a text is edited and a folder is trusted.
- ``file_viewer`` opens files in the system's own program, and hands them out when dragged.
"""
