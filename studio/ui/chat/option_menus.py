"""Option menus: the composer's menus of agents, models, modes and folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QRect, Qt, Signal
from PySide6.QtWidgets import QFileDialog

from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.translation import locale, tr, tr_later
from studio.ui.widgets import MenuItem

from .composer import Composer
from .model.chat_model import ChatModel
from .model.model_choices import ModelChoice, model_choices, request_price, toggled
from .model.open_chat import Change
from .model.session_options import EFFORT_NAMES, PERMISSION_MODES, ROLE_LIMITS, efforts

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.domain.models import Effort, ModelInfo

    from .model_picker import ModelPicker

CHOOSE_FOLDER = "…"
OPEN_SETTINGS = "settings"
DEFAULT_EFFORT = "default"
MOST_FLAT = 10
"""As many models of other providers are seen at once, without a menu in the menu."""


def model_key(provider: str, model: str) -> str:
    return f"{provider}/{model}"


def split_key(key: str) -> tuple[str, str]:
    provider, _, model = key.partition("/")
    return provider, model


def model_items(engine: Engine, providers: Sequence[str], current: str) -> list[MenuItem]:
    """The models of every connected provider; the chosen one stays even if unlisted (P-3).

    The chosen one's provider comes first. The others have menus of their own where all would be
    too long.
    """
    from studio.providers.registry import PROVIDER_TITLES

    sections: dict[str, list[MenuItem]] = {}
    chosen, model = split_key(current)
    for name in providers:
        if offered := engine.offered(name, model if name == chosen else ""):
            sections[name] = [
                MenuItem(model_key(name, one.id), one.title, detail=_window(one)) for one in offered
            ]
    first = sections.pop(chosen, [])
    items = [MenuItem("", tr_engine(PROVIDER_TITLES[chosen])), *first] if first else []
    if current and all(item.key != current for item in first):
        items = [MenuItem(current, model), *items]
    if sum(map(len, sections.values())) <= MOST_FLAT:
        for name, section in sections.items():
            items += [MenuItem("", tr_engine(PROVIDER_TITLES[name])), *section]
    elif sections:
        items.append(MenuItem("", tr("Other providers")))
        items += [
            MenuItem(n, tr_engine(PROVIDER_TITLES[n]), items=tuple(s)) for n, s in sections.items()
        ]
    return [*items, MenuItem("", ""), MenuItem(OPEN_SETTINGS, tr("Providers and models…"))]


def effort_items(model: ModelInfo) -> list[MenuItem]:
    """How much the model can be made to think; nothing for one that does not."""
    offered = efforts(model)
    if not offered:
        return []
    return [
        MenuItem(DEFAULT_EFFORT, tr("Default")),
        *(MenuItem(effort, tr(EFFORT_NAMES[effort])) for effort in offered),
    ]


TURN_MODES: dict[str, tuple[str, str]] = {
    "": (tr_later("As the agent’s file says"), ""),
    "inline": (tr_later("Inline"), tr_later("Short: ends soon and hands back to you")),
    "background": (tr_later("Background"), tr_later("Longer, beside what else you do")),
    "long": (tr_later("Long"), tr_later("Large work; asks you before it takes more")),
}
_MODE = "mode "


def turn_mode_items(current: str) -> list[MenuItem]:
    """How long the next messages of a chat may take, below its agents."""
    return [
        MenuItem("", tr("Mode")),
        *(
            MenuItem(_MODE + mode, tr(words), detail=tr(about), checked=mode == current)
            for mode, (words, about) in TURN_MODES.items()
        ),
    ]


def turn_mode_of(key: str) -> str | None:
    """The mode that a line of the agents' menu stands for; None for an agent's."""
    return next((mode for mode in TURN_MODES if _MODE + mode == key), None)


def _window(model: object) -> str:
    tokens = getattr(model, "context_window", None)
    if not tokens:
        return ""
    if tokens < 1_000_000:
        return tr("{number}k").format(number=tokens // 1000)
    millions = f"{round(tokens / 1_000_000, 2):g}".replace(".", locale().decimalPoint())
    return tr("{number}M").format(number=millions)


def folder_items(recent: Sequence[str]) -> list[MenuItem]:
    items = [MenuItem(folder, short_path(folder)) for folder in recent]
    return [*items, *([MenuItem("", "")] if items else []), MenuItem(CHOOSE_FOLDER, tr("Choose…"))]


class OptionMenus(QObject):
    """Fills the composer's menus from the model, and applies what is chosen in them."""

    settings_wanted = Signal(str, str)

    def __init__(self, composer: Composer, model: ChatModel) -> None:
        super().__init__(composer)
        self._composer, self._model = composer, model
        self._dialog: QFileDialog | None = None
        self.picker: ModelPicker | None = None
        """The models to choose from, once they were shown."""
        self.retry_picker: ModelPicker | None = None
        """The same for an answer that is wanted again."""
        self._retried: Callable[[str, str], None] = lambda provider, model: None
        modes = PERMISSION_MODES.items()
        composer.mode.set_items(
            [MenuItem(key, tr(text), detail=tr(about)) for key, (text, about) in modes]
        )
        composer.agent.chosen.connect(self._choose_agent)
        composer.model.opening.connect(self._open_models)
        composer.effort.chosen.connect(self._choose_effort)
        composer.mode.chosen.connect(model.options.choose_permission_mode)
        composer.folder.chosen.connect(self._choose_folder)
        composer.agent.opening.connect(model.options_changed)
        model.subscribe(self._changed, "options")

    def _changed(self, change: Change) -> None:
        if self._model.engine is not None:
            self._fill(self._model.engine)

    def _fill(self, engine: Engine) -> None:
        options, composer = self._model.options, self._composer
        self._fill_agents()
        composer.model.set_face(options.model.title or tr("Choose a model"))
        efforts_offered = effort_items(options.model)
        composer.effort.set_items(efforts_offered)
        composer.effort.set_current(options.effort or DEFAULT_EFFORT)
        effort = tr(EFFORT_NAMES[options.effort]).lower() if options.effort else tr("default")
        composer.effort.set_face(tr("Effort: {effort}").format(effort=effort), "gauge")
        composer.effort.setVisible(bool(efforts_offered))
        for picker in (self.picker, self.retry_picker):
            if picker is not None:
                picker.refresh()
        composer.mode.set_current(options.permission_mode)
        composer.mode.set_face(tr(PERMISSION_MODES[options.permission_mode][0]), "shield")
        composer.folder.set_items(folder_items(engine.settings.values.recent_folders))
        composer.folder.set_current(options.folder)
        composer.folder.set_face(options.folder_name, "folder")
        composer.show_menus()

    def _fill_agents(self) -> None:
        """The agents, and below them the modes of the next turns."""
        options, button = self._model.options, self._composer.agent
        mode = options.turn_mode or ""
        items = [
            MenuItem(one.name, one.name, detail=tr_engine(one.about))
            for one in options.offered_agents
        ]
        button.set_items([*items, *turn_mode_items(mode)])
        chosen = next((one for one in options.agents if one.name == options.agent), None)
        limits = (tr_engine(chosen.whose), tr(ROLE_LIMITS[chosen.role])) if chosen else ()
        button.set_tip(". ".join(filter(None, limits)))
        button.set_current(options.agent)
        face = f"{options.agent}, {mode}" if mode else options.agent
        button.set_face(face, *options.agent_icon(options.agent))

    def _choose_agent(self, key: str) -> None:
        if (mode := turn_mode_of(key)) is not None:
            self._model.options.choose_turn_mode(mode)
        else:
            self._model.options.choose_agent(key)

    def _choose_effort(self, key: str) -> None:
        known: dict[str, Effort] = {effort: effort for effort in EFFORT_NAMES}
        self._model.options.choose_effort(known.get(key))

    def _open_models(self) -> None:
        from .model_picker import ModelPicker

        self._model.options_changed()
        if self.picker is None:
            self.picker = ModelPicker(self._composer.theme, self._choices, self._composer)
            self.picker.chosen.connect(self._model.options.choose_model)
            self.picker.chosen.connect(lambda *_: self._composer.setFocus())
            self.picker.closed.connect(self._composer.model.find_mouse)
            self.picker.starred.connect(self._star)
            self.picker.settings_wanted.connect(lambda: self.settings_wanted.emit("providers", ""))
        button = self._composer.model
        place = QRect(button.mapToGlobal(QPoint()), button.size())
        self.picker.open(place, self._estimate)

    @property
    def _estimate(self) -> str:
        """What the next request costs at least."""
        from .model_picker import estimate

        tokens = self._model.session.transcript.last_usage.total if self._model.session else 0
        return estimate(request_price(self._model.options.model, tokens))

    def choose_retry(self, place: QRect, chosen: Callable[[str, str], None]) -> None:
        """Have a model chosen that answers again, beside a place on the screen."""
        from .model_picker import RETRY, ModelPicker

        self._retried = chosen
        self._model.options_changed()
        if self.retry_picker is None:
            picker = ModelPicker(self._composer.theme, self._choices, self._composer, RETRY)
            picker.chosen.connect(lambda provider, model: self._retried(provider, model))
            picker.starred.connect(self._star)
            picker.settings_wanted.connect(lambda: self.settings_wanted.emit("providers", ""))
            self.retry_picker = picker
        self.retry_picker.open(place, self._estimate, below=True)

    def _choices(self) -> list[ModelChoice]:
        options, engine = self._model.options, self._model.engine
        return [] if engine is None else model_choices(engine, options.provider, options.model_id)

    def _star(self, key: str) -> None:
        if (engine := self._model.engine) is not None:
            values = engine.settings.values
            values.favourite_models = toggled(values.favourite_models, key)
            self._model.run(engine.settings.save())
            self._fill(engine)

    def _choose_folder(self, folder: str) -> None:
        if folder == CHOOSE_FOLDER:
            self.choose_folder()
        else:
            self._model.options.choose_folder(folder)

    def choose_folder(self) -> None:
        """Show a dialog that chooses the chat's folder."""
        folder = self._model.options.chooser_folder
        dialog = self._dialog = QFileDialog(self._composer, tr("Choose a folder"), folder)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._model.options.choose_folder)
        dialog.open()
