"""The Web page: search engine, pages that may be fetched, and masking (T-8, T-9)."""

from __future__ import annotations

from functools import partial
from typing import get_args, get_type_hints

from studio.storage.config.settings import Settings
from studio.ui.settings.form import FormCard, SettingsPage
from studio.ui.settings.key_row import KeyOwner, KeyRow
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Combo, Field, MenuItem, Toggle, plain_tip

ENGINES = {
    "ddgs": tr_later("DuckDuckGo and others"),
    "brave": "Brave Search",
    "tavily": "Tavily",
    "searxng": "SearXNG",
    "provider": tr_later("The model’s provider"),
    "off": tr_later("Off"),
}
KEYS = (
    KeyOwner("brave", "Brave Search", hint="BSA…"),
    KeyOwner("tavily", "Tavily", hint="tvly-…"),
)
MASKED = {
    "email": tr_later("Email addresses"),
    "phone": tr_later("Phone numbers"),
    "iban": tr_later("Bank accounts (IBAN)"),
    "card": tr_later("Card numbers"),
    "ip": tr_later("IP addresses"),
}


class WebPage(SettingsPage):
    """The search engine and its keys, which pages may be fetched, and what is masked."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme,
            tr("Web"),
            tr("How agents search and read the web, and what models do not get from it."),
        )
        self._settings, self._tasks = services.values, services.tasks
        search = FormCard(theme)
        self.engine = Combo(theme, tr("Search engine"), width=220)
        self._engines = get_args(get_type_hints(Settings)["web_search"])
        self.engine.set_items([MenuItem(name, tr(ENGINES[name])) for name in self._engines])
        self.engine.chosen.connect(self._engine_chosen)
        search.add(
            tr("Search engine"), self.engine, tr("The provider’s own costs what it asks for.")
        )
        self.address = Field(theme, "https://searx.example.org", name=tr("Address of SearXNG"))
        self.address.editingFinished.connect(self._address_entered)
        about = tr("Your own server; it must offer JSON.")
        search.add(tr("SearXNG address"), self.address, about, least=220)
        self.keys: dict[str, KeyRow] = {}
        for one in KEYS:
            row = self.keys[one.name] = KeyRow(theme, one, services.keychain, services.tasks)
            search.add(tr("{title} key").format(title=one.title), row, least=380)
        self.add_group(tr("Search"), search)
        pages = FormCard(theme)
        title = tr("Pages from this computer and its network")
        about = tr("Off, agents reach only the public internet, also where a page redirects.")
        self.private = pages.add_toggle(title, self._private_set, about)
        self.add_group(tr("Pages"), pages)
        masks = FormCard(theme)
        self.masks: dict[str, Toggle] = {}
        for name, title in MASKED.items():
            mask = partial(self._mask_set, name)
            spoken = tr("Mask {what}").format(what=tr(title))
            self.masks[name] = masks.add_toggle(tr(title), mask, name=spoken)
        about = tr(
            "Models then get [email 1] for them; so does the chat, for good. Not in pictures."
        )
        title = tr("Also in what you write, in files and in what commands print")
        self.mask_own = masks.add_toggle(title, self._mask_own_set, about)
        self.add_group(tr("Masked before a model reads what tools bring from outside"), masks)
        self.column.addStretch(1)

    def refresh(self) -> None:
        values = self._settings
        self.engine.set_current(values.web_search)
        self.address.set_unless_typing(values.searxng_url)
        self.private.show_value(values.fetch_private)
        for name, toggle in self.masks.items():
            toggle.show_value(name in values.mask)
        self.mask_own.show_value(values.mask_own)
        for row in self.keys.values():
            self._tasks.start(row.load())

    def _engine_chosen(self, name: str) -> None:
        self._settings.web_search = next(one for one in self._engines if one == name)
        self.changed.emit()

    def _address_entered(self) -> None:
        address = self.address.text().strip()
        wrong = bool(address) and not address.startswith(("http://", "https://"))
        self.address.set_error(tr("An address begins with https://") if wrong else "")
        self.address.setToolTip(plain_tip(self.address.error))
        if not wrong and address != self._settings.searxng_url:
            self._settings.searxng_url = address
            self.changed.emit()

    def _private_set(self, on: bool) -> None:
        self._settings.fetch_private = on
        self.changed.emit()

    def _mask_own_set(self, on: bool) -> None:
        self._settings.mask_own = on
        self.changed.emit()

    def _mask_set(self, name: str, on: bool) -> None:
        others = [one for one in self._settings.mask if one != name]
        self._settings.mask = [*others, name] if on else others
        self.changed.emit()
