"""Prompt dialog: the arguments of a prompt that an MCP server offers (M-21).

What is filled in is written after the prompt's name in the composer, where it can be changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QStringListModel, Qt, QTimer, Signal
from PySide6.QtWidgets import QAbstractItemView, QCompleter, QDialog, QListView, QWidget

from studio.domain.errors import StudioError
from studio.domain.jsonvalue import JsonObject
from studio.ui.forms.schema_form import SchemaForm
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Field, Label
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.scrolled_body import ScrolledBody

from .model.chat_model import ChatModel

if TYPE_CHECKING:
    from studio.domain.extensions import Extension

    from .composer import Composer

Values: TypeAlias = Callable[[str, str, Mapping[str, str]], Awaitable[list[str]]]
"""Returns what an argument may be: its name, what is typed, and the other arguments."""
WAIT = 150
"""Milliseconds without a key after which the server is asked for values."""
WIDTH, TALLEST = 460, 420


class PromptDialog(QDialog):
    """A field for each argument; while one is typed, the server says what it may be."""

    entered = Signal(object)
    """The arguments, as they are written after the prompt's name."""

    def __init__(
        self, theme: Theme, prompt: Extension, schema: JsonObject, values: Values, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"/{prompt.name}")
        self._theme, self._values = theme, values
        self._asking: dict[str, asyncio.Task[None]] = {}
        self.form = SchemaForm(theme, schema, asked=True)
        self.form.entered.connect(self.accept)
        title = Label(theme, f"/{prompt.name}", "heading", wrap=True)
        about = Label(theme, prompt.description, "ui", "text1", wrap=True)
        whose = tr("A prompt of the MCP server {server}, in its own words.")
        line = Label(theme, whose.format(server=prompt.path), "small", "text2", wrap=True)
        self.use = Button(theme, tr("Use it"), "primary", clicked=self.accept)
        cancel = Button(theme, tr("Cancel"), "ghost", clicked=self.reject)
        inner = QWidget()
        column_of([about, self.form], spacing=12, on=inner, margins=(0, 0, 8, 2))
        body = ScrolledBody(theme, inner)
        body.set_most(theme.px(TALLEST))
        buttons = row_of([STRETCH, cancel, self.use], spacing=8)
        parts = [title, line, (body, 1), buttons]
        column_of(parts, spacing=10, margins=(18, 16, 18, 14), on=self)
        self.setMinimumWidth(theme.px(WIDTH))
        self.completers: dict[str, QCompleter] = {}
        for name, row in self.form.rows.items():
            if row.line is not None:
                self._complete(name, row.line)

    def _complete(self, name: str, line: Field) -> None:
        completer = self.completers[name] = QCompleter(QStringListModel(self), self)
        completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        if isinstance(popup := completer.popup(), QListView):
            popup.setFont(self._theme.font("ui"))
        completer.setWidget(line)
        completer.activated.connect(line.setText)
        timer = QTimer(line, singleShot=True, interval=WAIT)
        timer.timeout.connect(partial(self._ask, name, line))
        line.textEdited.connect(lambda _: timer.start())

    def _ask(self, name: str, line: Field) -> None:
        if (before := self._asking.get(name)) is not None:
            before.cancel()
        self._asking[name] = asyncio.ensure_future(self._offer(name, line))

    async def _offer(self, name: str, line: Field) -> None:
        """Show below a field what the server says that it may be."""
        others = {
            other: row.line.text()
            for other, row in self.form.rows.items()
            if other != name and row.line is not None and row.line.text()
        }
        found: list[str] = []
        with suppress(StudioError):  # then it is typed without help
            found = await self._values(name, line.text(), others)
        completer = self.completers[name]
        model, popup = completer.model(), completer.popup()
        assert isinstance(model, QStringListModel)
        assert popup is not None
        model.setStringList(found)
        if found and found != [line.text()] and line.hasFocus():
            completer.complete()
        else:
            popup.hide()

    def accept(self) -> None:
        if any(_chooses(one.popup()) for one in self.completers.values()):
            return  # Enter comes here first, and then chooses from the list
        try:
            content = self.form.value()
        except ValueError:  # it is told beside the field
            return
        super().accept()
        self.entered.emit({name: str(value) for name, value in content.items()})

    def done(self, result: int) -> None:
        for task in self._asking.values():
            task.cancel()
        for completer in self.completers.values():
            if (popup := completer.popup()) is not None:
                popup.hide()
        super().done(result)


def _chooses(popup: QAbstractItemView | None) -> bool:
    """Whether the person is choosing from a list."""
    return popup is not None and popup.isVisible() and popup.currentIndex().isValid()


async def call_prompt(composer: Composer, model: ChatModel, prompt: Extension) -> None:
    """Let the person fill in the arguments of a prompt, and put its call into the composer."""
    from studio.agent.servers.prompt_arguments import written

    engine = model.engine
    if engine is None:
        return
    services, folder = engine.services, Path(model.options.folder)
    chat = model.session.info.id if model.session is not None else ""
    entries = await services.server_entries(folder, chat)
    schema = services.offers.prompt_form(entries, prompt.name)

    async def values(argument: str, typed: str, given: Mapping[str, str]) -> list[str]:
        return await services.offers.values(entries, prompt.name, argument, typed, given, folder)

    def put(arguments: dict[str, str]) -> None:
        composer.replace_word(f"/{prompt.name} {written(arguments)}".rstrip() + " ")
        composer.setFocus()

    dialog = PromptDialog(composer.theme, prompt, schema, values, composer.window())
    dialog.entered.connect(put)
    dialog.open()
    dialog.form.focus_first()
