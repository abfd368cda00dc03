"""The settings window.

- ``client_rules``: What clients of the server may have agents do.
- ``dialog``: The settings window.
- ``form``: What settings pages are made of.
- ``key_row``: One provider's key.
- ``limit_rows``: Limits of turns and of what they may use, and where traces go (L-11, L-14,
  L-15).
- ``model_list``: The models of one provider.
- ``page_list``: The list of pages at the left of the settings.
- ``pages``: To be described.
- ``provider_meta``: The providers as a person meets them.
- ``provider_rows``: Parts of a provider's section.
- ``provider_section``: One provider in the accordion.
- ``rule_list``: The rules that count.
- ``rule_tester``: “What would happen if…”.
- ``tasks``: Work of the settings window on the event loop.
"""

from .dialog import SettingsDialog

__all__ = ["SettingsDialog"]
