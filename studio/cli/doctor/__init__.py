"""The checks of ``agent-studio doctor``.

- ``finding``: a check and what it found.
- ``local_checks``: checks this computer: folders, database, sandbox, tools, clock.
- ``network_checks``: checks the keychain, the providers and the network.
- ``display``: checks the display and the libraries that the window needs.
"""
