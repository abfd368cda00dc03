"""Config.

- ``keychain``: Keys of providers, in the operating system's keychain and nowhere else (P-4).
- ``model_overrides``: What the person says of models, in the settings.
- ``permission_rules``: The person's rules, standing ones and those of one chat, and the folders
  they trust (T-7).
- ``server_token``: The secret that clients of the server show (S-4).
- ``settings``: The person's settings, one JSON file that may be edited by hand.
"""
