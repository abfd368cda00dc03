"""Configuration by the person: settings, permission rules, API keys.

- ``key_command``: runs programs of the person's that print a key.
- ``keychain``: keeps providers' API keys in the operating system's keychain (P-4).
- ``model_overrides``: reads the settings' facts about models, which precede all others (P-5).
- ``permission_rules``: the rows of standing and session rules, and of the folders that a person
  trusts (T-7).
- ``server_token``: keeps the secret that clients of the server send (S-4).
- ``settings``: reads and writes one JSON file that may also be edited by hand; a lock keeps two
  programs from writing it at the same time.
"""
