"""Routing: which model works on which messages, where the person wants that chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal

from studio.storage.settings import Settings
from studio.ui.chat.menus import OPEN_SETTINGS, split_key
from studio.ui.controls import Combo, MenuItem, Toggle
from studio.ui.theme import Theme

from .rows import FormCard

NONE = "none"
TIERS = (
    ("small", "Small", "For greetings, facts and short questions."),
    ("large", "Large", "For one task of a few steps."),
    ("cloud", "Cloud", "For long and hard tasks, and where a smaller model got stuck."),
)
"""Keys of ``Settings.tiers`` with their words, the cheapest first."""
ModelMenu = Callable[[str], Sequence[MenuItem]]
"""The models to choose from, by the key of the chosen one or an empty text."""


class RoutingRows(FormCard):
    """The switch, a model for each tier, and the small one that is asked.

    ``changed`` comes after each change, ``providers_wanted`` when the person
    wants to connect another one.
    """

    changed = Signal()
    providers_wanted = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__(theme)
        self._settings = settings
        self._offer: ModelMenu = lambda current: []
        self.on = Toggle(theme, "Choose mode and model by how hard a message is")
        self.on.toggled.connect(self._switched)
        self.add(
            "Choose mode and model by how hard a message is",
            self.on,
            "A model that you choose for a chat stays. Each choice is shown in the chat.",
        )
        self.tiers: dict[str, Combo] = {}
        for key, title, line in TIERS:
            combo = self.tiers[key] = self._combo(f"{title} model", key)
            self.add(f"{title} model", combo, line)
        self.asked = self._combo("Asked how hard a message is", "")
        self.add(
            "Asked how hard a message is",
            self.asked,
            "A small model reads each message first. Without one, rules decide.",
        )

    def set_models(self, offer: ModelMenu) -> None:
        """What can be chosen; asked again whenever a menu opens."""
        self._offer = offer
        self.refresh()

    def refresh(self) -> None:
        """Show the settings as they are now."""
        values = self._settings
        self.on.blockSignals(True)
        self.on.setChecked(values.routing)
        self.on.blockSignals(False)
        self._show_choice(self.asked, values.routing_model, "Rules alone")
        for key, combo in self.tiers.items():
            self._show_choice(combo, values.tiers.get(key, ""), "Not set")
            combo.setEnabled(values.routing)
        self.asked.setEnabled(values.routing)

    def _combo(self, name: str, tier: str) -> Combo:
        made = Combo(self.theme, name, width=200)
        made.opening.connect(self.refresh)
        made.chosen.connect(lambda key: self._chosen(tier, key))
        return made

    def _show_choice(self, combo: Combo, current: str, nothing: str) -> None:
        items = list(self._offer(current))
        combo.set_items([MenuItem(NONE, nothing), MenuItem("", ""), *items])
        combo.set_current(current or NONE)
        combo.set_face(_title(items, current) if current else nothing)

    def _switched(self, on: bool) -> None:
        self._settings.routing = on
        self.refresh()
        self.changed.emit()

    def _chosen(self, tier: str, key: str) -> None:
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
    """What a model is called, in the menu or in one of its menus; its id if it is not there."""
    for item in items:
        if item.key == key:
            return item.text
        if item.items and any(inner.key == key for inner in item.items):
            return _title(item.items, key)
    return split_key(key)[1]
