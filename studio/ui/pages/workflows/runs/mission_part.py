"""Mission part: the cycle of a mission, its checks, and what the person says to it (W-51)."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from studio.ui.inspector.fact_list import Fact, FactList
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Field, Label
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.workflows.missions.check_steps import results
from studio.workflows.missions.cycles import Cycles

from .run_record import RunRecord


class MissionPart(QWidget):
    """Shown in the Run tab, where the run is a mission."""

    steered = Signal(str)
    chat_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.words = Label(theme, "", "small", "text2", wrap=True)
        self.facts = FactList(theme)
        self.field = Field(theme, tr("Say something to it"))
        self.field.returnPressed.connect(self._say)
        self.say = Button(theme, tr("Say it"), clicked=self._say)
        self.chat = Button(
            theme, tr("Take over as a chat"), icon="message-square", clicked=self.chat_wanted.emit
        )
        said = row_of([(self.field, 1), self.say], 8)
        over = row_of([self.chat, STRETCH])
        below = column_of([said, over], 8, (16, 6, 16, 8))
        column_of([row_of([self.words], margins=(16, 8, 16, 4)), self.facts, below], 0, on=self)

    def show_record(self, record: RunRecord) -> None:
        run = record.run
        self.setVisible(record.is_mission)
        if not record.is_mission or run.started is None:
            return
        self.words.show_text(run.started.mission)
        self.facts.show_facts(mission_facts(record))
        for part in (self.field, self.say):
            part.setVisible(run.end is None)
        self.chat.setVisible(run.end is None)

    def _say(self) -> None:
        if text := self.field.text().strip():
            self.field.clear()
            self.steered.emit(text)


def mission_facts(record: RunRecord) -> list[Fact]:
    """The cycle, and each check as it was looked at last."""
    run = record.run
    most = Cycles(record.workflow, run).most
    number = str(run.cycle)
    if most:
        number = tr("{done} of {all}").format(done=run.cycle, all=most)
    checks = run.cycles[-1].checks if run.cycles else ()
    rows = [Fact(tr("Cycle"), number), Fact(tr("Checks"), "", "heading")]
    known = {one.step: one.passed for one in checks}
    for one in results(record.workflow, run):
        passed = known.get(one.step)
        words = tr("passes") if passed else tr("does not pass")
        icon, ink = ("check", "ok") if passed else ("x", "err")
        if passed is None:
            words, icon, ink = tr("not looked at yet"), "circle-dashed", "text3"
        rows.append(Fact(one.title, words, "row", icon, ink))
    return rows
