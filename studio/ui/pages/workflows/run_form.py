"""Run form: asks for the inputs of a run, above the graph."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal

from studio.domain.workflows import Input
from studio.ui.engine_texts import tr_engine
from studio.ui.pages.start_form import StartForm
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Field, Label
from studio.ui.widgets.layouts import column_of, row_of


class RunForm(StartForm):
    """One field for each input; Enter starts the run, Escape leaves it."""

    started = Signal(object)
    """The inputs that the person gave, as texts by name."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.fields: dict[str, Field] = {}
        self._form = column_of(spacing=6)
        column_of(
            [row_of([(self.title, 1), self.start, self.cancel], 8), self._form, self.wrong],
            spacing=8,
            margins=(20, 8, 12, 10),
            on=self,
        )

    def ask(self, name: str, inputs: Sequence[Input]) -> None:
        """Ask for the inputs of a workflow, before it runs."""
        while (item := self._form.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.fields = {}
        self.title.setText(tr("Run {name}").format(name=name))
        for one in inputs:
            words = tr_engine(one.description) or one.name
            field = Field(self.theme, ", ".join(one.choices) or words, name=words)
            if one.default is not None:
                field.setText(str(one.default))
            self.fields[one.name] = field
            self._form.addWidget(Label(self.theme, words, "small", "text2"))
            self._form.addWidget(field)
        self.show_error("")
        self.show()
        next(iter(self.fields.values()), self.start).setFocus()

    def give(self) -> None:
        self.started.emit({name: one.text() for name, one in self.fields.items() if one.text()})
