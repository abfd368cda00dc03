"""A session: one saved conversation, and what makes its turns.

- ``session``: Runs turns one after the other, and closes one that a crash left open; carries out
  what the person decides meanwhile.
- ``sessions``: Creates, opens, branches and deletes sessions for every door; knows which are open.
- ``session_state``: Holds transcript, drafts, rules and pending input; records each event once.
- ``event_channel``: Delivers each event, in its envelope, once to every subscriber.
- ``turn_builder``: Builds a turn: its agent, model, history, limits and guards.
- ``turn_rights``: Puts together what the tools of a turn may use: rules, masks, folder, sandbox.
- ``turn_options``: How one turn differs from others, and what it inherits from the turn above it.
- ``turn_updates``: Tells the model before each request what it has not been told yet.
- ``agent_setup``: Loads the agent of a turn with its provider, tools and instructions.
- ``system_prompt``: Composes the system prompt, and tells the model what has changed since.
- ``guidance``: Puts AGENTS.md and the like into the history, and later what changed in them;
  ``studio.agent.instruction_files`` finds them.
- ``orientation``: Tells the model once, with the first message, where it works.
- ``memory``: Tells the model the titles of notes once, and says what a note is made from.
- ``message_reader``: Masks what the person says, and finds whom and what it calls, before its turn.
- ``invocation``: Fills in the skill or command that the person calls by its name.
- ``message_queue``: Keeps what the person says while a turn runs.
- ``native_history``: What requests are made of: the history in the provider's form, which begins
  anew where the provider changes, and gets what a crash cut off (H-5).
- ``chat_hooks``: Runs the hooks of a chat around its turns, and makes those of each turn.
- ``context_control``: Compacts, summarises and pins when the person asks for it.
- ``model_router``: Chooses a model for a message by how hard it looks.
- ``title_writer``: Has a cheap model write the title of a chat.
- ``import_export``: Makes our JSON and markdown of conversations, and reads the JSON.
- ``import_chatgpt``: Reads ChatGPT's trees of messages, with links for marks of citations.
- ``import_claude``: Reads Claude's conversations.
- ``import_formats``: Opens an exported file or zip, tells which program wrote it, and has its
  conversations read.
- ``import_stream``: Reads large JSON piece by piece, and finds the attached files in a zip.
- ``import_values``: Reads single values, and puts messages together.
"""
