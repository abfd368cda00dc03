"""Permission: decides which tool calls run, need an approval, or are refused (T-6, T-7).

Tools do not check permission: the tool runner does, before it runs a call.

- ``policy``: Decides about a call by the rules of all layers and the permission mode.
- ``client_policy``: Limits what an agent may do for a client of the server.
- ``rulebook``: Finds the rules about a tool, in their order; describes decisions. A rule itself,
  and what its pattern matches, is in ``studio.domain.permissions``.
- ``ruling``: What hooks say of a call, under the rules of the person.
- ``rules``: Has the rules that count now: of the person, a session and a folder, whose file it
  reads; says what trust in a folder would allow.
- ``rule_suggestions``: Suggests the rules that “always” adds, and says what they let run.
- ``wishes``: Says which rules a skill's ``allowed-tools`` would be, and keeps those that are given.
- ``approval``: Asks the person and waits for the answer.
- ``tool_access``: Holds what the tools of one turn may use (T-6).
- ``exfiltration_guard``: Requires an approval for calls that could send private data out.
- ``content_filter``: Masks secrets and names in what a model is to read, from outside or of the
  person, and marks what is from outside. Logs and records: ``studio.domain.redaction``.
- ``invisible_characters``: Escapes what nobody sees in texts of others, and what a terminal obeys.
- ``path_scope``: Resolves the paths that rules name; lists what commands may not read.
- ``pattern_match``: Finds the other spellings of a command, which rules that forbid match too.
- ``shell_lexer``: Reads one word of a command line.
- ``shell_parser``: Reads a command line into simple commands, for ``command_parts``.
- ``command_parts``: Splits a command line at ``&&``, pipes and ``$(…)`` into parts that are each
  decided about: every program it runs, every file it writes.
- ``command_places``: Says which files a command runs, and in which folders.
- ``program_facts``: Has what programs may do with other arguments than those asked about.
- ``program_options``: Finds the arguments with which a program runs another or writes a file.
"""
