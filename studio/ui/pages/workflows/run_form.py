"""Run form: asks for the inputs of a run, above the graph."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.domain.workflows import Input
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Field, Label
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import PaintedWidget


class RunForm(PaintedWidget):
    """One field for each input; Enter starts the run, Escape leaves it."""

    ground = "surface"
    started = Signal(object)
    """The inputs that the person gave, as texts by name."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.title = Label(theme, "", "ui_medium", wrap=True)
        self.wrong = Label(theme, "", "ui", "err", wrap=True)
        self.fields: dict[str, Field] = {}
        self.start = Button(theme, tr("Start"), "primary", "play", clicked=self._begin)
        self.cancel = Button(theme, tr("Cancel"), "ghost", clicked=self.hide)
        self._form = column_of(spacing=6)
        column_of(
            [row_of([(self.title, 1), self.start, self.cancel], 8), self._form, self.wrong],
            spacing=8,
            margins=(20, 8, 12, 10),
            on=self,
        )
        self.hide()

    def ask(self, name: str, inputs: Sequence[Input]) -> None:
        """Ask for the inputs of a workflow, before it runs."""
        while (item := self._form.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.fields = {}
        self.title.setText(tr("Run {name}").format(name=name))
        for one in inputs:
            words = one.description or one.name
            field = Field(self.theme, ", ".join(one.choices) or words, name=words)
            if one.default is not None:
                field.setText(str(one.default))
            self.fields[one.name] = field
            self._form.addWidget(Label(self.theme, words, "small", "text2"))
            self._form.addWidget(field)
        self.wrong.show_text("")
        self.show()
        next(iter(self.fields.values()), self.start).setFocus()

    def show_error(self, text: str) -> None:
        self.wrong.show_text(text)

    def _begin(self) -> None:
        self.started.emit({name: one.text() for name, one in self.fields.items() if one.text()})

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() == Qt.Key.Key_Escape or (enter and self.cancel.hasFocus()):
            self.hide()
        elif enter:  # also from a field, which leaves that to the form
            self._begin()
        else:
            super().keyPressEvent(event)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        line = self.theme.color("hair")
        painter.fillRect(0, self.height() - 1, self.width(), 1, line)
