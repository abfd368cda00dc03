"""The checks of ``agent-studio doctor``.

- ``finding``: a check and what it found.
- ``local_checks``: checks this computer: folders, database, sandbox, tools, clock.
- ``keychain_check``: checks whether keys can be kept.
- ``network_checks``: checks the providers and the network.
- ``display``: checks the display and the libraries that the window needs.
"""
