"""The General page: language, defaults of new chats, limits, routing and traces.

The rows of limits and traces are in ``general_limits``, those about links and the quick
question in ``general_desktop``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from PySide6.QtCore import QLocale, Signal

from studio.providers.registry import PROVIDER_TITLES
from studio.storage.config.settings import LanguageName, Settings
from studio.ui.chat.model.spelling import AUTOMATIC, OFF, OWN_WORDS, Spelling
from studio.ui.chat.option_menus import OPEN_SETTINGS, model_items, split_key
from studio.ui.engine_texts import tr_engine
from studio.ui.settings.form import FormCard, SettingsPage
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme, joined
from studio.ui.translation import LANGUAGES, tr, tr_later
from studio.ui.widgets import Button, Combo, MenuItem, plain_tip

from .general_desktop import DesktopRows
from .general_limits import LimitRows, TraceRows

NONE = "none"
TIERS = (
    ("small", tr_later("Small model"), tr_later("For greetings, facts and short questions.")),
    ("large", tr_later("Large model"), tr_later("For one task of a few steps.")),
    (
        "cloud",
        tr_later("Cloud model"),
        tr_later("For long and hard tasks, and where a smaller model got stuck."),
    ),
)
"""Keys of ``Settings.tiers`` with their titles and texts, the cheapest first."""
ModelMenu = Callable[[str], Sequence[MenuItem]]
"""Returns the models to choose from, given the key of the chosen one or an empty text."""


class RoutingRows(FormCard):
    """The switch of routing, a model for each tier, and the small model that classifies messages.

    ``changed`` is emitted after each change, ``providers_wanted`` when the person wants to
    connect another provider.
    """

    changed = Signal()
    providers_wanted = Signal()

    def __init__(self, theme: Theme, settings: Settings, models: ModelMenu) -> None:
        super().__init__(theme)
        self._settings, self._models = settings, models
        line = tr("A model that you choose for a chat stays. Each choice is shown in the chat.")
        self.on = self.add_toggle(
            tr("Choose mode and model by how hard a message is"), self._switched, line
        )
        self.tiers: dict[str, Combo] = {}
        for key, title, line in TIERS:
            combo = self.tiers[key] = self._combo(tr(title), key)
            self.add(tr(title), combo, tr(line))
        self.asked = self._combo(tr("Asked how hard a message is"), "")
        self.add(
            tr("Asked how hard a message is"),
            self.asked,
            tr("A small model reads each message first. Without one, rules decide."),
        )

    def refresh(self) -> None:
        """Show the current settings."""
        values = self._settings
        self.on.show_value(values.routing)
        self._show_choice(self.asked, values.routing_model, tr("Rules alone"))
        for key, combo in self.tiers.items():
            self._show_choice(combo, values.tiers.get(key, ""), tr("Not set"))
            combo.setEnabled(values.routing)
        self.asked.setEnabled(values.routing)

    def _combo(self, name: str, tier: str) -> Combo:
        combo = Combo(self.theme, name, width=200)
        combo.opening.connect(self.refresh)
        combo.chosen.connect(lambda key: self._model_chosen(tier, key))
        return combo

    def _show_choice(self, combo: Combo, current: str, nothing: str) -> None:
        items = list(self._models(current))
        combo.set_items([MenuItem(NONE, nothing), MenuItem("", ""), *items])
        combo.set_current(current or NONE)
        combo.set_face(_title(items, current) if current else nothing)

    def _switched(self, on: bool) -> None:
        self._settings.routing = on
        self.refresh()
        self.changed.emit()

    def _model_chosen(self, tier: str, key: str) -> None:
        if key == OPEN_SETTINGS:
            self.refresh()
            self.providers_wanted.emit()
            return
        model = "" if key == NONE else key
        if not tier:
            self._settings.routing_model = model
        elif model:
            self._settings.tiers[tier] = model
        else:
            self._settings.tiers.pop(tier, None)
        self.refresh()
        self.changed.emit()


def _title(items: Sequence[MenuItem], key: str) -> str:
    """The title of a model in the menu or its submenus; the model's id if it is not there."""
    for item in items:
        if item.key == key:
            return item.text
        if item.items and any(inner.key == key for inner in item.items):
            return _title(item.items, key)
    return split_key(key)[1]


def _language_name(code: str) -> str:
    """A language in its own words, with its country."""
    locale = QLocale(code)
    if locale.language() == QLocale.Language.C:
        return code
    return f"{locale.nativeLanguageName()} ({locale.nativeTerritoryName()})"


def _automatic() -> MenuItem:
    return MenuItem(AUTOMATIC, tr("Automatic"))


class GeneralPage(SettingsPage):
    """Language, defaults of new chats, limits, routing and traces."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(theme, tr("General"), tr("Changes apply at once."))
        self._services = services
        settings = self._settings = services.values
        self._add_language()
        self._add_new_chats()
        self.desktop = DesktopRows(theme, services.tasks)
        self.add_group(tr("Desktop"), self.desktop)
        self.limits = LimitRows(theme, settings)
        self.limits.changed.connect(self.changed)
        self.add_group(tr("Limits"), self.limits)
        engine = services.engine
        self.routing = RoutingRows(
            theme, settings, lambda key: model_items(engine, engine.connected, key)
        )
        self.routing.changed.connect(self.changed)
        self.routing.providers_wanted.connect(lambda: self.page_wanted.emit("providers"))
        self.add_group(tr("Routing"), self.routing)
        self.traces = TraceRows(theme, settings)
        self.traces.changed.connect(self.changed)
        self.add_group(tr("Traces"), self.traces)
        self.column.addStretch(1)

    def _add_language(self) -> None:
        rows = FormCard(self.theme)
        names = [MenuItem("system", tr("As on the desktop"))]
        names += [MenuItem(*one) for one in LANGUAGES.items()]
        self._language = Combo(self.theme, tr("Language"), "", 220, names)
        self._language.chosen.connect(self._language_chosen)
        rows.add(tr("Language"), self._language)
        self._spelling = Combo(self.theme, tr("Spelling"), "", 220, self._spelling_items([]))
        self._spelling.chosen.connect(self._spelling_chosen)
        self._spelling_line = rows.add(
            tr("Spelling"), self._spelling, tr("Marks misspelt words in your messages.")
        )
        self.column.addWidget(rows)

    def _add_new_chats(self) -> None:
        rows = FormCard(self.theme)
        providers = [MenuItem(name, tr_engine(title)) for name, title in PROVIDER_TITLES.items()]
        self._provider = Combo(
            self.theme, tr("Default provider"), "", 200, [_automatic(), *providers]
        )
        self._provider.chosen.connect(partial(self._store_default, "default_provider"))
        rows.add(
            tr("Default provider"), self._provider, tr("New chats begin with its default model.")
        )
        self._agent = Combo(self.theme, tr("Default agent"), "", 200, [_automatic()])
        self._agent.chosen.connect(partial(self._store_default, "default_agent"))
        rows.add(tr("Default agent"), self._agent)
        self._folder = Button(self.theme, tr("Choose…"), icon="folder", clicked=self._choose_folder)
        rows.add(tr("Folder of new chats"), self._folder)
        line = tr("The cheapest model of the chat’s provider writes it, within your limits.")
        self._titles = rows.add_toggle(tr("Give chats a title"), self._switch_titles, line)
        self.column.addWidget(rows)

    def _switch_titles(self, on: bool) -> None:
        self._settings.write_titles = on
        self.changed.emit()

    def show_at(self, name: str) -> None:
        """Load the lists of agents and dictionaries again; "language" gets the keyboard."""
        if name == "language":
            self._language.setFocus()
        self._services.tasks.start(self._load_agents())
        self._services.tasks.start(self._load_dictionaries())

    async def _load_agents(self) -> None:
        found = await self._services.engine.agents()
        items = [MenuItem(one.name, one.name, one.icon) for one in found.by_name.values()]
        self._agent.set_items([_automatic(), *items])
        self.refresh()

    def refresh(self) -> None:
        values = self._settings
        self.routing.refresh()
        self.limits.refresh()
        self.traces.refresh()
        self._language.set_current(values.language)
        self._show_spelling()
        self._titles.show_value(values.write_titles)
        self._provider.set_current(values.default_provider or AUTOMATIC)
        self._agent.set_current(values.default_agent or AUTOMATIC)
        folder = values.last_folder
        self._folder.set_text(Path(folder).name if folder else tr("Choose…"))
        self._folder.setAccessibleName(joined((tr("Folder of new chats"), Path(folder).name)))
        self._folder.setToolTip(plain_tip(folder))

    def _show_spelling(self) -> None:
        """Also a language whose dictionary is not here, or not listed yet."""
        chosen = self._settings.spelling
        names = {AUTOMATIC: _automatic().text, OFF: tr("Off")}
        self._spelling.set_current(chosen)
        self._spelling.set_face(names.get(chosen) or _language_name(chosen))

    def _spelling_items(self, languages: Sequence[str]) -> list[MenuItem]:
        known = [MenuItem(one, _language_name(one)) for one in languages if "_" in one]
        known.sort(key=lambda item: item.text)
        return [
            _automatic(),
            MenuItem(OFF, tr("Off")),
            *([MenuItem("", "")] if known else []),
            *known,
        ]

    async def _load_dictionaries(self) -> None:
        spelling = Spelling(self._services.file.path.parent / OWN_WORDS)
        found = await asyncio.to_thread(spelling.languages)
        self._spelling.set_items(self._spelling_items(found))
        if not found:
            words = tr("There are no dictionaries here. It takes Enchant, and those of Hunspell.")
            if sys.platform == "win32":
                words = tr("There is no spelling on Windows: its dictionaries are not read.")
            self._spelling_line.show_text(words)
        self.refresh()

    def _spelling_chosen(self, language: str) -> None:
        self._settings.spelling = language
        self._show_spelling()
        self.changed.emit()

    def _language_chosen(self, language: str) -> None:
        self._settings.language = cast("LanguageName", language)
        self.changed.emit()

    def _store_default(self, setting: str, name: str) -> None:
        setattr(self._settings, setting, "" if name == AUTOMATIC else name)
        self.changed.emit()

    def _choose_folder(self) -> None:
        self.ask_for_folder(
            tr("Folder of new chats"), self._settings.last_folder, self._folder_chosen
        )

    def _folder_chosen(self, folder: str) -> None:
        self._settings.use_folder(folder)
        self.refresh()
        self.changed.emit()
