"""Configuration: what a person has set up, from settings and rules to API keys.

- ``keychain``: keeps providers' API keys in the operating system's keychain (P-4).
- ``model_overrides``: reads what the settings say of models, which precedes every list (P-5).
- ``permission_rules``: stores standing and session rules, and the folders a person trusts (T-7).
- ``server_token``: keeps the secret that clients of the server send (S-4).
- ``settings``: reads and writes one JSON file that may also be edited by hand.
"""
