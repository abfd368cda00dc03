"""Permission, a wrapper around the tools: no tool knows that it exists (T-6, T-7).

- ``approval``: Where a call waits for permission, and where the person's answer arrives (T-7).
- ``content_filter``: The one filter between what comes from outside and the model (T-9).
- ``exfiltration_guard``: What a chat has met, and whether a call could carry it out of the
  house (T-7).
- ``path_scope``: Where a path leads, and by which names rules know that place.
- ``pattern_match``: Other ways to write a command, which a rule that forbids must not miss.
- ``policy``: What may run without a question, what is asked, what is refused (T-7).
- ``project_rules``: What the files in a folder's ``.agents`` say about permission.
- ``rule_suggestions``: The rule that “always” would add for a command.
- ``rulebook``: The rules of a policy in their order, found quickly.
- ``rules``: The rules that stand.
- ``shell_analysis``: The parts of a command line.
- ``shell_lexer``: One word of a shell's command line, with its quotes and expansions.
- ``shell_parser``: Reads a shell's command line into the simple commands it would run.
- ``visible_text``: Other people's words in a question.
"""
