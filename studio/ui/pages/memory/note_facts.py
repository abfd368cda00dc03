"""Shows who wrote a note, when and how long it is, and has what can be set."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.domain.records import dataclass
from studio.tools.memory.note import KINDS as KEYS
from studio.tools.memory.note import Note
from studio.ui.formatting import number
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Combo, Hairline, Label, MenuItem, Toggle
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded

from .note_list import when
from .trust_tag import KINDS

HERE, EVERYWHERE = "here", "everywhere"


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """What is shown. ``folder`` is what the note is about, empty for all folders; ``titles`` and
    ``tokens`` are those of the notes that prompts get unasked, of ``most`` tokens."""

    note: Note
    folder: str
    here: str
    file: str
    keeps: bool
    titles: int
    tokens: int
    most: int


class FactsPane(PaintedWidget):
    """The right column."""

    ground = "surface"

    kind_chosen = Signal(str)
    place_chosen = Signal(str)
    keeps_changed = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        t = theme
        kinds = [MenuItem(key, tr(KINDS[key][0]), KINDS[key][1]) for key in KEYS]
        self.kind = Combo(t, tr("Kind"), items=kinds, chosen=self.kind_chosen.emit)
        self.place = Combo(t, tr("Known to"), chosen=self.place_chosen.emit)
        self._values = {
            name: Label(t, "", "ui_medium", digits=True) for name in ("by", "when", "size", "file")
        }
        names = {
            "by": tr("Proposed by"),
            "when": tr("When"),
            "size": tr("Size"),
            "file": tr("File"),
        }
        facts = [
            widget_of(row_of([Label(t, names[one], "ui", "text2"), STRETCH, value]))
            for one, value in self._values.items()
        ]
        self.keeps = Toggle(t, tr("Keep its notes without asking"))
        self.keeps.toggled.connect(self.keeps_changed)
        self.keeps_text = Label(t, "", "ui", wrap=True)
        never = Label(t, tr("Never when strangers’ words went in"), "small", "text2", wrap=True)
        words = column_of([self.keeps_text, never], spacing=2)
        self.next_time = widget_of(
            column_of(
                [
                    Label(t, tr("Next time"), "ui_strong"),
                    row_of([(words, 1), self.keeps], spacing=t.px(10)),
                    Hairline(t),
                ],
                spacing=t.px(10),
            )
        )
        self.titles = Label(t, "", "ui", "text2", digits=True)
        self.bar = _Share(t)
        self.told = Label(t, "", "small", "text2", wrap=True)
        head = widget_of(row_of([Label(t, tr("Note"), "heading")], margins=(t.px(16), 0, 0, 0)))
        head.setFixedHeight(t.px(48))
        inner = widget_of(
            column_of(
                [
                    *(Label(t, tr("Kind"), "ui", "text2"), self.kind),
                    *(Label(t, tr("Known to"), "ui", "text2"), self.place),
                    Hairline(t),
                    *facts,
                    Hairline(t),
                    self.next_time,
                    row_of([Label(t, tr("In prompts"), "ui_strong"), STRETCH, self.titles]),
                    *(self.bar, self.told, STRETCH),
                ],
                spacing=t.px(8),
                margins=(t.px(16), t.px(14), t.px(16), t.px(16)),
            )
        )
        column_of([head, Hairline(t), (inner, 1)], spacing=0, on=self)

    def show_facts(self, facts: NoteFacts) -> None:
        note = facts.note
        self.kind.set_current(note.kind)
        here = tr("Agents in {folder}").format(folder=facts.folder or facts.here)
        self.place.set_items([MenuItem(HERE, here), MenuItem(EVERYWHERE, tr("All agents"))])
        self.place.set_current(HERE if facts.folder else EVERYWHERE)
        self.place.setEnabled(not note.proposed)
        size = tr_plural("{count} token", "{count} tokens", len(note.text) // 4 + 1)
        shown = {"by": note.by or tr("you"), "when": when(note.written), "size": size}
        for name, text in {**shown, "file": facts.file}.items():
            self._values[name].setText(text)
        self.next_time.setVisible(bool(note.by))
        self.keeps_text.setText(tr("Keep {agent}’s notes without asking").format(agent=note.by))
        self.keeps.setAccessibleName(self.keeps_text.text())
        self.keeps.show_value(facts.keeps)
        self.titles.setText(tr_plural("{count} title", "{count} titles", facts.titles))
        self.bar.set_share(facts.tokens / facts.most)
        self.told.setText(
            tr("{used} of {most} tokens. Only titles you trust go in unasked.").format(
                used=number(facts.tokens), most=number(facts.most)
            )
        )


class _Share(PaintedWidget):
    """A bar four pixels high."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._share = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def set_share(self, share: float) -> None:
        self._share = min(max(share, 0.0), 1.0)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(100, self.theme.px(6))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        bar = QRectF(0, (rect.height() - t.px(4)) / 2, rect.width(), t.px(4))
        paint_rounded(painter, bar, 2, t.color("track"))
        done = QRectF(bar)
        done.setWidth(bar.width() * self._share)
        if done.width() >= 1:
            paint_rounded(painter, done, 2, t.color("accent"))
