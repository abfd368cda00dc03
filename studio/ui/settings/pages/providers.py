"""The Providers page: a section for each provider, with its key, address and models."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout

from studio.providers.registry import PROVIDERS
from studio.ui.settings.form import SettingsPage
from studio.ui.settings.provider_section import ProviderSection
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme
from studio.ui.widgets import Card, Hairline


class ProvidersPage(SettingsPage):
    """The providers, one section each."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme, "Providers", "Keys are stored in your system keychain, never in a file."
        )
        self._services = services
        card = Card(theme, "surface", "hair")
        column = QVBoxLayout(card)
        column.setContentsMargins(14, 0, 14, 0)
        column.setSpacing(0)
        self.sections: dict[str, ProviderSection] = {}
        for provider in (one for one in PROVIDERS.values() if one.in_settings):
            if self.sections:
                column.addWidget(Hairline(theme))
            section = self.sections[provider.name] = ProviderSection(theme, provider, services)
            section.changed.connect(lambda _name: self.changed.emit())
            column.addWidget(section)
        self.column.addWidget(card)
        self.column.addStretch(1)

    def show_at(self, name: str) -> None:
        """Open the section of a provider."""
        if name in self.sections:
            self.sections[name].open()

    def refresh(self) -> None:
        for section in self.sections.values():
            section.refresh()
        self._services.tasks.start(self._load())

    async def _load(self) -> None:
        for section in self.sections.values():
            await section.look()
        if problem := self._services.keychain.problem:
            self.line.setText(f"{problem} Keys can be kept for this session only.")
