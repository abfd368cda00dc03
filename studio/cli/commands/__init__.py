"""Commands.

- ``agents``: ``agent-studio agents``.
- ``audit``: ``agent-studio audit``.
- ``completion``: ``agent-studio completion``.
- ``config``: ``agent-studio config``.
- ``doctor``: ``agent-studio doctor``.
- ``drafts``: ``agent-studio drafts``.
- ``export``: ``agent-studio export`` and ``import``.
- ``permissions``: ``agent-studio permissions``.
- ``sessions``: ``agent-studio models`` and ``agent-studio sessions``.
- ``tools``: ``agent-studio tools``.
- ``usage``: ``agent-studio usage``.
"""
