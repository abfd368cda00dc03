"""Shows one draft: what it changes, and the buttons for what can be done about it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from studio.agent.changes.draft_review import LONGEST_REASON
from studio.domain.drafts import Draft
from studio.domain.sessions import DraftEntry
from studio.tools.drafts.diff import DiffLine, diff, unfold, unified_diff
from studio.tools.drafts.draft_conflict import Conflict
from studio.ui.chat.header import Title
from studio.ui.engine_texts import tr_engine
from studio.ui.pages.list_detail import DetailPane
from studio.ui.theme import Theme, joined
from studio.ui.transcript.items.draft_item import APPROVE, icon_of, outcome_of
from studio.ui.translation import tr, tr_in, tr_later, tr_plural
from studio.ui.widgets import (
    Button,
    Card,
    Field,
    Hairline,
    Label,
    Mark,
    Segmented,
    Tile,
)
from studio.ui.widgets.layouts import STRETCH, Stretch, column_of, row_of, widget_of
from studio.ui.widgets.panels import scrolled

from .diff_view import SIDES, DiffView, split, three, unified
from .draft_list import heading, whole_place

UNDO = tr_later("You can undo for 30 days.")


@dataclass(frozen=True, slots=True)
class ShownDraft:
    """What is on show; ``conflict`` where the file has changed meanwhile."""

    entry: DraftEntry
    draft: Draft
    conflict: Conflict | None
    icon: str
    hue: str
    when: str


class DraftDetail(DetailPane):
    """Header, origin, changes."""

    why_closed = Signal()
    """The person does not discard after all."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.shown: ShownDraft | None = None
        self._lines: list[DiffLine] = []
        self._pair = ("", "")
        parts = [self._make_header(), Hairline(theme), self._why_strip(), (self._body(), 1)]
        column_of(parts, spacing=0, on=self)
        self.clear("")

    # -- what it is made of -------------------------------------------------------------

    def _make_header(self) -> QWidget:
        t = self.theme
        self.title = Title(t, self)
        buttons = {
            "discard": Button(t, tr("Discard"), "ghost", keycap="D", folded_icon="trash-2"),
            "edit": Button(t, tr("Edit…"), keycap="E", folded_icon="pencil"),
            "undo": Button(t, tr("Undo"), icon="undo-2", keycap="Ctrl+Z"),
            "anew": Button(t, tr("Draft it anew"), "primary", keycap="A"),
            "merge": Button(t, tr("Use merged text"), "primary", keycap="A"),
            "approve": Button(t, tr("Approve and write"), "primary", keycap="A"),
        }
        return self._header([(self.title, 1)], tr("All drafts"), buttons)

    def _why_strip(self) -> QWidget:
        """Asks why a draft is discarded; Enter discards it, with or without a reason."""
        t = self.theme
        self.reason = Field(t, tr("Why? The agent reads it. You can leave it empty."))
        self.reason.setMaxLength(LONGEST_REASON)
        self.reason.returnPressed.connect(lambda: self.wanted.emit("discard"))
        keep = Button(t, tr("Cancel"), keycap="Esc", clicked=self.why_closed.emit)
        self.discard = Button(t, tr("Discard"), "primary")
        self.discard.clicked.connect(lambda: self.wanted.emit("discard"))
        line = row_of([(self.reason, 1), keep, self.discard], spacing=t.px(8))
        line.setContentsMargins(t.px(20), t.px(10), t.px(12), t.px(10))
        self._strip = widget_of(column_of([widget_of(line), Hairline(t)], spacing=0))
        self._strip.hide()
        self.why_closed.connect(self.close_why)
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self._strip, self.why_closed.emit)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        return self._strip

    @property
    def asks_why(self) -> bool:
        return not self._strip.isHidden()

    def ask_why(self) -> None:
        """Ask for the reason before a draft is discarded."""
        self.discard.set_text(self.buttons["discard"].text())
        self._strip.show()
        self.reason.setFocus(Qt.FocusReason.OtherFocusReason)

    def close_why(self) -> None:
        self.reason.clear()
        self._strip.hide()

    def _body(self) -> QWidget:
        t = self.theme
        self.tile = Tile(t, "code-xml", "blue", 22)
        self.agent = Label(t, "", "ui_strong")
        self.chat = Button(t, "", "link")
        self.chat.clicked.connect(self.chat_wanted)
        self.when = Label(t, "", "ui", "text2")
        self.added = Label(t, "", "small_strong", "ok")
        self.removed = Label(t, "", "small_strong", "err")
        origin = (
            self.tile,
            self.agent,
            Label(t, tr_in("a draft by an agent in a chat", "in"), "ui", "text2"),
            self.chat,
            self.when,
        )
        self.origin = widget_of(
            row_of([*origin, STRETCH, self.added, self.removed], spacing=t.px(6))
        )
        self.why = Label(t, "", "ui", "warn", wrap=True)
        self.card = Card(t)
        self.mark = Mark(t, "file-text")
        self.path = Label(t, "", "code", wrap=True)
        self.path.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.view = Segmented(t, [tr("Unified"), tr("Split")])
        self.sides = Segmented(t, [tr("Three sides"), tr("Merged")])
        for chooser in (self.view, self.sides):
            chooser.chosen.connect(lambda _: self._fill())
        head = row_of(
            [self.mark, (self.path, 1), self.sides, self.view],
            spacing=t.px(10),
            margins=(t.px(14), t.px(4), t.px(8), t.px(4)),
        )
        self.changes = DiffView(t)
        self.changes.unfolded.connect(self._unfold)
        margins = (1, 1, 1, 3)
        column_of([head, Hairline(t), self.changes], spacing=0, margins=margins, on=self.card)
        self.note = Label(t, "", "small", "text2", wrap=True)
        self.arrow = Mark(t, "undo-2")
        foot = row_of([self.arrow, (self.note, 1)], spacing=t.px(8))
        self._column = column = column_of(
            [Stretch(0), self.origin, self.why, self.card, foot, STRETCH],
            spacing=t.px(10),
            margins=(t.px(20), t.px(14), t.px(20), t.px(20)),
        )
        page = widget_of(column)
        self.area = area = scrolled(page)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return area

    # -- what it shows --------------------------------------------------------------------

    def clear(self, words: str) -> None:
        """Show no draft, and say why there is none."""
        self.shown = None
        self.close_why()
        self.title.set_text("")
        for button in self.buttons.values():
            button.hide()
        for widget in (self.origin, self.why, self.card, self.arrow):
            widget.hide()
        self.note.setText(words)
        self._place_note(alone=True)

    def _place_note(self, *, alone: bool) -> None:
        """Below the draft; without one at two fifths of the height."""
        self._column.setStretch(0, 2 if alone else 0)
        self._column.setStretch(self._column.count() - 1, 3 if alone else 1)
        self.note.setAlignment(
            Qt.AlignmentFlag.AlignHCenter if alone else Qt.AlignmentFlag.AlignLeft
        )

    async def show_draft(self, shown: ShownDraft, marked: int = 0) -> None:
        """``marked`` is how many drafts the next decision is about, if several."""
        fresh = self.shown is None or self.shown.draft.id != shown.draft.id
        self.shown = shown
        draft, entry, conflict = shown.draft, shown.entry, shown.conflict
        if fresh:
            self.close_why()
        if conflict is not None and fresh:
            self.sides.set_current(0)
        about = draft.describe()
        lines = unified_diff if about.rewrites else _none
        self._lines = await asyncio.to_thread(lines, draft)
        pair = await asyncio.to_thread(about.compared)
        if self.shown is not shown:
            return  # another was chosen meanwhile
        self._pair = pair
        self.title.set_text(
            tr_plural("{count} draft selected", "{count} drafts selected", marked)
            if marked > 1
            else heading(entry)
        )
        self.tile.set(shown.icon, shown.hue)
        self.agent.setText(entry.agent)
        self.chat.set_text(entry.title or tr("New chat"))
        self.chat.setAccessibleName(joined((tr("Chat"), self.chat.text())))
        self.when.setText(shown.when)
        counts = [line.kind for line in self._lines]
        for label, kind, sign in ((self.added, "add", "+"), (self.removed, "del", "−")):
            label.setText(f"{sign}{counts.count(kind)}" if kind in counts else "")
        self.why.show_text(tr_engine(entry.detail))
        place = whole_place(entry)
        home = str(Path.home())
        self.path.setText(f"~{place.removeprefix(home)}" if place.startswith(home) else place)
        for widget in (self.origin, self.card):
            widget.show()
        self._offer(shown, marked)
        self.mark.set(icon_of(about))
        self.note.setText(self._said(shown))
        self._place_note(alone=False)
        self.arrow.setVisible(tr(UNDO) in self.note.text())
        self._fill()
        if fresh:
            self.area.verticalScrollBar().setValue(0)

    def _offer(self, shown: ShownDraft, marked: int) -> None:
        draft, conflict = shown.draft, shown.conflict
        merge = conflict.merge if conflict else None
        offered = {
            "waiting": {"discard", "edit", "approve"},
            "conflict": {"discard", "edit", "merge"} if merge else {"discard", "edit", "anew"},
            "approved": {"undo"},
        }.get(draft.status, set[str]())
        if marked > 1:
            offered &= {"discard", "approve", "undo"}
        about = draft.describe()
        if not about.editable or (conflict and conflict.theirs is None and not about.after):
            offered -= {"edit"}
        for name, button in self.buttons.items():
            button.setVisible(name in offered)
        approve, discard = tr(APPROVE[about.action]), tr("Discard")
        if marked > 1:
            approve = tr_plural("Approve {count} draft", "Approve {count} drafts", marked)
            discard = tr_plural("Discard {count} draft", "Discard {count} drafts", marked)
        self.buttons["approve"].set_text(approve)
        self.buttons["discard"].set_text(discard)
        both = merge is not None and merge.conflicts > 0
        self.buttons["merge"].setEnabled(not both)
        self.buttons["merge"].setToolTip(
            tr("Both changed the same lines. Edit the text first.") if both else ""
        )
        self.sides.setVisible(merge is not None)
        self.view.setVisible(merge is None and bool(self._lines))

    def _said(self, shown: ShownDraft) -> str:
        draft, about = shown.draft, shown.draft.describe()
        if draft.status == "conflict":
            if about.noun == "file":
                return tr("The file on the disk stays as it is until you approve a draft of it.")
            return tr("It stays as it is until you approve a draft of it.")
        if draft.status != "waiting":
            done = f"{tr(outcome_of(draft)[2])}."
            return f"{done} {tr(UNDO)}" if draft.status == "approved" else done
        if not about.is_text:
            return " ".join((tr("This file is not text, so it cannot be shown here."), tr(UNDO)))
        return tr(UNDO)

    def _fill(self) -> None:
        """The card's rows, as chosen."""
        if self.shown is None:
            return
        draft, conflict = self.shown.draft, self.shown.conflict
        path = draft.describe().file_name
        merge = conflict.merge if conflict else None
        if conflict is not None and merge is not None:
            if self.sides.current == 0:
                self.changes.show_rows(three(merge.hunks), path, tuple(map(tr, SIDES)))
            else:
                self.changes.show_rows(unified(diff(conflict.theirs or "", merge.text)), path)
        elif self.view.current == 1:
            self.changes.show_rows(split(self._lines), path)
        else:
            self.changes.show_rows(unified(self._lines), path)

    def _unfold(self, fold: DiffLine) -> None:
        """Show the lines that a fold stands for."""
        if fold in self._lines:
            self._lines = unfold(self._lines, self._lines.index(fold), self._pair[1])
        self._fill()


def _none(draft: Draft) -> list[DiffLine]:
    return []
