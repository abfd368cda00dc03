"""Shows one note: its words, what is odd about them, and what it was made from."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.domain.records import dataclass
from studio.tools.memory.note import Note, Source
from studio.tools.memory.note_index import Entry
from studio.tools.memory.order_marks import Mark as OrderMark
from studio.ui.pages.list_detail import DetailPane
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import (
    Button,
    Card,
    Hairline,
    Label,
    Mark,
    Tag,
)
from studio.ui.widgets.layouts import STRETCH, Stretch, column_of, row_of, widget_of
from studio.ui.widgets.panels import scrolled

from .note_list import about
from .trust_tag import KINDS, TrustTag, trust_word

SOURCES = {
    "message": (tr_later("What was said"), "message-square"),
    "file": (tr_later("A file"), "file-text"),
    "command": (tr_later("A command"), "terminal"),
    "page": (tr_later("From outside"), "globe"),
    "note": (tr_later("Another note"), "notebook-tabs"),
}
"""The word and icon of what a note was made from."""


@dataclass(frozen=True, slots=True)
class ShownNote:
    """What is on show. ``chat`` is the title of the chat it was written in, if it is there yet."""

    note: Note
    marks: Sequence[OrderMark]
    close: Sequence[Entry]
    chat: str


class NoteDetail(DetailPane):
    """Header, words, marks, sources and close notes."""

    merge_wanted = Signal(object)
    """Merge the note into this one."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.shown: ShownNote | None = None
        column_of([self._make_header(), Hairline(theme), (self._body(), 1)], spacing=0, on=self)
        self.clear("")

    def _make_header(self) -> QWidget:
        t = self.theme
        self.state = Tag(t, "", "warn")
        buttons = {
            "undo": Button(t, tr("Undo"), "ghost", keycap="Ctrl+Z", folded_icon="undo-2"),
            "drop": Button(t, tr("Drop"), "ghost", keycap="D", folded_icon="trash-2"),
            "edit": Button(t, tr("Edit…"), keycap="E", folded_icon="pencil"),
            "keep": Button(t, tr("Keep"), "primary", keycap="A"),
        }
        return self._header([self.state, STRETCH], tr("All notes"), buttons)

    def _body(self) -> QWidget:
        t = self.theme
        self.title = Label(t, "", "title", wrap=True)
        self.words = Label(t, "", "body", wrap=True)
        for label in (self.title, self.words):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.more = widget_of(column_of([], spacing=0))
        self.note = Label(t, "", "ui", "text2", wrap=True)
        self._column = column = column_of(
            [Stretch(0), self.title, self.words, self.more, self.note, STRETCH],
            spacing=t.px(10),
            margins=(t.px(20), t.px(18), t.px(20), t.px(20)),
        )
        self.area = scrolled(widget_of(column))
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return self.area

    def clear(self, words: str, *, undo: bool = False) -> None:
        """Show no note, and say why there is none."""
        self.shown = None
        for name, button in self.buttons.items():
            button.setVisible(undo and name == "undo")
        self.state.hide()
        self.title.hide()
        self.words.hide()
        self._fill([])
        self.note.show_text(words)
        self.note.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._column.setStretch(0, 2)
        self._column.setStretch(self._column.count() - 1, 3)

    def show_note(self, shown: ShownNote, *, undo: bool) -> None:
        """``undo``: something that was decided here can be undone."""
        before, self.shown = self.shown, shown
        note = shown.note
        self.state.set(tr("Forget it?") if note.forgets else tr("Proposed"), "warn")
        self.state.setVisible(note.proposed)
        for name, button in self.buttons.items():
            button.setVisible(
                {"keep": note.proposed, "undo": undo, "edit": not note.forgets}.get(name, True)
            )
        self.buttons["keep"].set_text(tr("Forget") if note.forgets else tr("Keep"))
        self.buttons["drop"].set_text(tr("Drop") if note.proposed else tr("Forget"))
        title, words = _parts(note)
        self.title.show_text(title)
        self.words.show_text(words)
        self.note.hide()
        self.note.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self._column.setStretch(0, 0)
        self._column.setStretch(self._column.count() - 1, 1)
        parts: list[QWidget] = [self._mark_card(mark) for mark in shown.marks]
        parts += self._sources(shown)
        if shown.close:
            parts += [
                self._heading(tr("Close to it")),
                *(self._close_card(one) for one in shown.close),
            ]
        self._fill(parts)
        if before is None or (before.note.place, before.note.name) != (note.place, note.name):
            self.area.verticalScrollBar().setValue(0)

    def _fill(self, parts: Sequence[QWidget]) -> None:
        new = widget_of(column_of(parts, spacing=self.theme.px(10)))
        self._column.replaceWidget(self.more, new)
        self.more.hide()
        self.more.deleteLater()
        self.more = new
        new.setVisible(bool(parts))

    def _mark_card(self, mark: OrderMark) -> QWidget:
        t, card = self.theme, Card(self.theme, border="warn_line")
        order = tr("“{words}” reads like an order")
        text = order if mark.kind == "order" else tr("“{words}”: something here is hidden")
        yours = self.shown is not None and self.shown.note.trust == "yours"
        quote = tr("If kept, agents see it as a quote, not as an instruction.")
        words = column_of(
            [
                Label(t, text.format(words=mark.words), "ui_strong", wrap=True),
                *([] if yours else [Label(t, quote, "small", "text2", wrap=True)]),
            ],
            spacing=2,
        )
        reword = Button(t, tr("Reword…"), clicked=lambda: self.wanted.emit("edit"))
        row_of(
            [Mark(t, "triangle-alert", "warn"), (words, 1), reword],
            spacing=t.px(12),
            margins=(t.px(12), t.px(8), t.px(12), t.px(8)),
            on=card,
        )
        return card

    def _heading(self, words: str) -> QWidget:
        """A heading with room above it."""
        label, px = Label(self.theme, words, "ui_strong"), self.theme.px
        return widget_of(row_of([label], margins=(0, px(10), 0, 0)))

    def _sources(self, shown: ShownNote) -> list[QWidget]:
        t, note = self.theme, shown.note
        rows: list[QWidget] = [self._heading(tr("Where it comes from"))]
        rows += [self._source(one) for one in note.sources]
        if note.origin:
            read = Source("page", note.origin, "strangers")
            rows += [] if read.name in {one.name for one in note.sources} else [self._source(read)]
        trust = tr("Its trust is the lowest of all it was made from: {trust}").format(
            trust=trust_word(note.trust)
        )
        rows.append(
            self._source_row("notebook-tabs", tr("This note"), trust, TrustTag(t, note.trust))
        )
        if shown.chat:
            chat = Button(t, shown.chat, "link")
            chat.setAccessibleName(tr("Chat {title}").format(title=shown.chat))
            chat.clicked.connect(self.chat_wanted)
            rows.append(
                widget_of(row_of([Label(t, tr("Written in"), "small", "text2"), chat, STRETCH]))
            )
        return rows

    def _source(self, source: Source) -> QWidget:
        word, icon = SOURCES.get(source.what, SOURCES["page"])
        return self._source_row(icon, tr(word), source.name, TrustTag(self.theme, source.trust))

    def _source_row(self, icon: str, title: str, text: str, tag: QWidget) -> QWidget:
        t = self.theme
        head = row_of([Label(t, title, "ui_medium"), tag, STRETCH], spacing=t.px(8))
        words = column_of([head, Label(t, text, "small", "text2", wrap=True)], spacing=1)
        mark = (Mark(t, icon, "text2", 18), Qt.AlignmentFlag.AlignTop)
        return widget_of(row_of([mark, (words, 1)], spacing=t.px(12)))

    def _close_card(self, entry: Entry) -> QWidget:
        t, card = self.theme, Card(self.theme)
        words = column_of(
            [
                Label(t, entry.title, "ui_medium", wrap=True),
                Label(t, about(entry), "small", "text2"),
            ],
            spacing=1,
        )
        merge = Button(t, tr("Merge…"), icon="git-merge")
        merge.clicked.connect(lambda: self.merge_wanted.emit(entry))
        row_of(
            [Mark(t, KINDS[entry.kind][1]), (words, 1), TrustTag(t, entry.trust), merge],
            spacing=t.px(12),
            margins=(t.px(12), t.px(8), t.px(12), t.px(8)),
            on=card,
        )
        return card


def _parts(note: Note) -> tuple[str, str]:
    """The first line, without its marks of markdown, and the rest."""
    lines = note.text.strip().splitlines()
    first = next((n for n, line in enumerate(lines) if line.strip("#*- \t")), 0)
    whole = lines[first].strip("#*- \t") if lines else note.name
    if len(whole) > 100:
        return note.about, note.text.strip()
    return whole, "\n".join(lines[first + 1 :]).strip()
