"""Run head: the row above a run, with its name and the buttons that pause and stop it."""

from __future__ import annotations

from pathlib import Path

from studio.domain.runs import Run
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_in
from studio.ui.widgets import Button, IconButton, Label, Mark, Segmented, plain_tip
from studio.ui.widgets.layouts import STRETCH, row_of
from studio.ui.widgets.painting import PaintedWidget

from .run_record import RunRecord
from .sample_words import waits_for_yes

HEIGHT = 48
"""Pixels at normal size."""


class RunHead(PaintedWidget):
    """The view fills it and connects its buttons."""

    ground = "surface"

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.back = IconButton(theme, "chevron-left", tr("Back to the file"))
        self.title = Label(theme, "", "heading")
        self.file = Button(theme, "", "ghost", "workflow")
        self.inputs = Label(theme, "", "ui", "text2")
        self._tag = Mark(theme, "tag")
        self._tag.hide()
        ask = "shield-question-mark"
        self.answer = Button(theme, tr_in("a button", "Answer"), icon=ask)
        self.pause = Button(theme, tr_in("a run", "Pause"), icon="pause", keycap="P")
        self.stop = Button(theme, tr_in("a run", "Stop"), icon="circle-x")
        self.cancel = Button(theme, tr("Cancel"), "ghost")
        names = [tr("Graph"), tr("List")]
        icons = ("workflow", "list")
        self.which = Segmented(theme, names, name=tr("View"), icons=icons, marked=True)
        self.side = IconButton(theme, "panel-right", tr("Inspector"))
        self.side.setCheckable(True)
        parts = [self.back, self.title, self.file, self._tag, self.inputs, STRETCH]
        parts += [self.answer, self.pause, self.stop, self.cancel, self.which, self.side]
        folding = (self.which, self.cancel, self.stop, self.pause, self.file, self.answer)
        self._row = row_of(parts, folding=folding, on=self)
        theme.changed.connect(self._follow_theme)
        self._follow_theme()

    def _follow_theme(self) -> None:
        px = self.theme.px
        self.setFixedHeight(px(HEIGHT))
        self._row.setSpacing(px(8))
        self._row.setContentsMargins(px(12), 0, px(12), 0)

    def show_record(self, record: RunRecord, *, below: bool) -> None:
        """Show the names of a run; ``below`` where it is a step of another one."""
        self.title.setText(record.title)
        name = Path(record.run.started.source).name if record.run.started is not None else ""
        self.file.set_text(name)
        self.file.setVisible(bool(name))
        self._show_inputs(record.inputs[:40])
        words = tr("Back to the run above") if below else tr("Back to the file")
        self.back.setAccessibleName(words)
        self.back.setToolTip(plain_tip(words))

    def show_none(self, source: str) -> None:
        """Show that a file has no runs."""
        self.title.setText(tr("Runs of {file}").format(file=Path(source).name))
        self.file.setVisible(False)
        self._show_inputs("")

    def _show_inputs(self, words: str) -> None:
        self.inputs.show_text(words)
        self._tag.setVisible(bool(words))

    def show_buttons(self, run: Run | None, *, here: bool, elsewhere: bool) -> None:
        """Show what can be done to a run, None for nothing.

        It is carried out ``here``, in this window, or ``elsewhere``, by another program.
        """
        running = run is not None and run.state != "paused" and (here or elsewhere)
        asks = run is not None and waits_for_yes(run)  # there is nothing to pause
        self.cancel.setVisible(asks)
        self.pause.setVisible(run is not None and not asks)
        self.pause.setEnabled(not elsewhere)
        self.pause.set_text(tr_in("a run", "Pause") if running else tr("Go on"))
        self.pause.set_icon("pause" if running else "play")
        self.stop.setVisible(run is not None and not asks)
