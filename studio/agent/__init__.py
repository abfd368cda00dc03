"""One agent: its loop, its sessions, what it may do and what it may use.

Folders:

- ``loop``: Runs one turn: asks the model, runs its tools, until it answers.
- ``session``: Holds one conversation: its history and state, and the building of its turns.
- ``context``: Keeps a conversation within the model's context.
- ``permission``: Decides which calls run, and asks the person about the others.
- ``delegation``: Lets an agent have others do tasks.
- ``hooks``: Tells commands of the person's and of a folder's what a chat does, and hears them.
- ``agent_files``: Finds, reads, checks and changes agents in markdown files.
- ``models``: Finds the provider and the model that a name stands for, and makes providers.
- ``servers``: Gives agents the tools, resources and prompts of MCP servers.
- ``changes``: Keeps drafts of files and the changes of turns, so that they can be undone.

Modules:

- ``handoffs``: Offers after an answer what the agent's file says comes next, at doors of words.
- ``engine``: Holds all parts of the program for the window, the terminal and the server; chooses
  what a new chat runs on, and empties the bin.
- ``bootstrap``: Opens what is stored and builds the engine.
- ``services``: Holds what sessions, turns and tools share: agents, rules, providers, the web; loads
  an agent with its tools, and finds what the person would trust in a folder.
- ``frontmatter``: Splits a markdown file, finds its keys and values, and gives problems their line
  and column.
- ``folder_files``: Reads what a folder brings for agents, with a digest for trust.
- ``instruction_files``: Finds and reads what people write for agents, AGENTS.md and others.
- ``pack_hosts``: Reaches packs whose Python runs in a process of its own.
- ``packs``: Holds what the code of packs gives to agents, and closes it with the program.
- ``studios_above``: Says how many studios asked for what is done here, one through the other.
- ``request_gate``: Asks the policies of packs before each request to a provider.
- ``extension_sources``: Says how what others bring is found, by rooms above this one.
- ``look_alikes``: Finds names that a reader may take for each other.
- ``yaml_text``: Loads YAML, also a stranger's.
- ``prompts``: The words that models read.
- ``attachments``: Turns files and pictures that the person attaches into blocks of a message.
- ``chat_files``: Exports chats to files, and imports those of files after a preview; what is in
  such a file is written and read by ``session.import_export``.
- ``budget``: Limits tokens and money: accounts with caps, and what is reserved on them.
- ``turn_budgets``: Keeps what day, month and each session used, and makes the budget of a turn.
- ``request_meter``: Reserves and books what each request uses; limits the requests of an hour.
- ``usage_costs``: Adds up what stored requests used and cost, by ``studio.providers.pricing``.
- ``parallelism``: Finds how many requests a provider takes at a time for a model: slowly more, half
  of them when it refuses.
- ``retry_policy``: Chooses by an error's fault how long to wait before a request is sent again, or
  that it is not.
- ``audit_export``: Writes the audit of tool calls to a file.
- ``skills``: Tells an agent which skills it may open, opens them, keeps them in long chats.
- ``updates``: Asks a signed file for the newest version, and says what is new in this one.
- ``telemetry``: Passes the events of turns and runs on to a thread, where traces are on.
- ``trace_spans``: Makes OpenTelemetry spans of them in that thread, and sends these.
"""
