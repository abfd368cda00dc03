"""A server's resources, or its prompts: each can be looked at as agents would get it (M-21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from studio.agent.servers.address_templates import variables_form
from studio.agent.servers.prompt_arguments import form_of
from studio.mcp.lists import ServerPrompt, ServerResource, ServerTool
from studio.ui.settings.registry import SettingsTasks
from studio.ui.settings.rows import IconTile, RowCard
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_in
from studio.ui.widgets import Button, Label, plain_tip
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.layouts import column_of, row_of, widget_of

from .trial import Call, TrialCard


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be looked at: like a tool, with what stands in its row and on its button."""

    call: ServerTool
    icon: str
    line: str
    verb: str
    title: str
    """That of the card below."""

    @property
    def name(self) -> str:
        return self.call.title or self.call.name


def resource_offer(one: ServerResource, *, template: bool = False) -> Offer:
    schema = variables_form(one.uri) if template else {}
    call = ServerTool(one.uri, one.title or one.name, one.description, schema)
    title = tr("Open {name}").format(name=one.title or one.name)
    return Offer(call, "file-text", one.uri, tr_in("button", "Open"), title)


def prompt_offer(one: ServerPrompt) -> Offer:
    names = joined(str(argument.get("name", "")) for argument in one.arguments)
    call = ServerTool(one.name, one.title, one.description, form_of(one))
    title = tr("Try {tool}").format(tool=one.name)
    return Offer(call, "message-square", names, tr_in("button", "Try"), title)


class OfferPane(QWidget):
    """The rows, and below them the one that is looked at."""

    def __init__(self, theme: Theme, tasks: SettingsTasks, call: Call, none: str) -> None:
        super().__init__()
        self.theme = theme
        self.buttons: dict[str, Button] = {}
        self._offers: Sequence[Offer] = ()
        self.card = RowCard(theme)
        self.trial = TrialCard(theme, tasks, call)
        self.none = Label(theme, none, "ui", "text2")
        self._rest = QWidget()
        parts = [self.none, self.card, self.trial, (self._rest, 1)]
        column_of(parts, spacing=10, on=self)
        self.show_offers(())

    def show_offers(self, offers: Sequence[Offer]) -> None:
        self._offers, self.buttons = offers, {}
        self.card.set_rows([self._row(one) for one in offers])
        self.none.setVisible(not offers)
        self.trial.hide()

    def _row(self, one: Offer) -> QWidget:
        theme, middle = self.theme, Qt.AlignmentFlag.AlignVCenter
        about = one.call.description
        texts: list[QWidget] = [Label(theme, one.name, "ui_medium", wrap=True)]
        texts += [ElidedLabel(theme, one.line, "small", "text2")] if one.line else []
        texts += [Label(theme, about, "small", "text2", wrap=True)] if about else []
        button = Button(theme, one.verb, clicked=partial(self._look_at, one))
        button.setAccessibleName(joined((one.verb, one.name)))
        self.buttons[one.call.name] = button
        parts = [(IconTile(theme, one.icon), middle), (column_of(texts, spacing=0), 1)]
        row = widget_of(row_of([*parts, (button, middle)], spacing=10, margins=(0, 7, 0, 7)))
        row.setToolTip(plain_tip(about))
        return row

    def _look_at(self, one: Offer) -> None:
        """Fetch it; what needs arguments is asked for them first."""
        self.trial.show_call(one.call, one.title)
        self.trial.show()
        form = self.trial.form
        if form is not None and form.rows:
            form.focus_first()
        else:
            self.trial.start()
