"""The Audit page: lists every call of a tool, who allowed it and how it ended (L-15)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from PySide6.QtCore import QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QListView,
    QPlainTextEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from studio.agent.audit_export import export
from studio.agent.engine import Engine
from studio.storage.sessions.audit_log import AuditEntry, AuditFilter, AuditState
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import decimal, moment
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import (
    Button,
    Combo,
    Field,
    FocusRing,
    Hairline,
    Index,
    Label,
    MenuItem,
    OverlayBar,
)
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import paint_ends
from studio.ui.widgets.row_list import RowModel

from .page import Page, Run

PAGE = 200
STATES: dict[AuditState, tuple[str, str, str]] = {
    "queued": (tr_later("Queued"), "circle", "text3"),
    "waiting": (tr_later("Waiting for you"), "shield-question-mark", "warn"),
    "running": (tr_later("Running"), "circle", "accent_text"),
    "done": (tr_later("Done"), "check", "ok"),
    "error": (tr_later("Failed"), "circle-alert", "err"),
    "denied": (tr_later("Denied by you"), "x", "warn"),
    "refused": (tr_later("Refused"), "x", "warn"),
    "cancelled": (tr_later("Stopped"), "square", "text2"),
}
"""Words, icon and colour of what a call came to."""


def spoken_entry(entry: AuditEntry) -> str:
    return joined((headline(entry), tr(STATES[entry.state][0]), *about(entry)))


class AuditModel(RowModel):
    """The entries so far; ``more`` is called when the end of them comes into sight."""

    def __init__(self, more: Callable[[], None]) -> None:
        super().__init__(spoken_entry)
        self.whole = True
        """Whether these are all there are."""
        self._more = more

    def canFetchMore(self, parent: Index) -> bool:
        return not parent.isValid() and not self.whole

    def fetchMore(self, parent: Index) -> None:
        self._more()

    def begin(self, entries: list[AuditEntry], whole: bool) -> None:
        self.whole = whole
        self.show(entries)

    def append(self, entries: list[AuditEntry], whole: bool) -> None:
        self.whole = whole
        first = len(self.rows)
        if entries:
            self.beginInsertRows(QModelIndex(), first, first + len(entries) - 1)
            self.rows = [*self.rows, *entries]
            self.endInsertRows()


class _Row(QStyledItemDelegate):
    """Two lines: the call and when; who, where and what it came to."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(200, self._theme.px(46))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t = self._theme
        entry: AuditEntry = index.data(Qt.ItemDataRole.UserRole)
        rect = QRectF(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, t.color("selected"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, t.color("hover"))
        side, x = t.px(15), rect.x() + t.px(12)
        _, icon, token = STATES[entry.state]
        first = QRectF(x + side + 10, rect.y() + t.px(4), 0, t.px(20))
        first.setRight(rect.right() - t.px(16))
        second = first.translated(0, t.px(19))
        mark = QRectF(x, first.center().y() - side / 2, side, side)
        t.paint_icon(painter, mark, icon, token)
        call = (headline(entry), "ui", "text1")
        paint_ends(painter, t, first, call, (moment(entry.at), "small", "text3"))
        paint_ends(painter, t, second, ("  ·  ".join(about(entry)), "small", "text2"))


class AuditPage(Page):
    """The calls, filtered by words and by what they came to."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run)
        self._wanted = AuditFilter()
        self._chosen = ""
        """The state that is looked for; no state's name for any."""
        self._chooser: QFileDialog | None = None
        self.field = Field(theme, tr("Filter by words"), icon="search")
        self.field.offer_clear()
        self.field.textChanged.connect(lambda _: self.refresh())
        self.state = Combo(theme, tr("State"), width=170)
        self.state.set_items(
            [
                MenuItem("any", tr("Any state")),
                *(MenuItem(key, tr(words[0])) for key, words in STATES.items()),
            ]
        )
        self.state.set_current("any")
        self.state.chosen.connect(self._state_chosen)
        self.export = Button(theme, tr("Export…"), clicked=self._choose_file)
        self.count = Label(theme, "", "small", "text2")
        self.model = AuditModel(self._fetch)
        self.list = QListView()
        self.list.setModel(self.model)
        self.list.setItemDelegate(_Row(theme))
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setAccessibleName(tr("Calls of tools"))
        self.list.viewport().setAutoFillBackground(False)
        self.list.selectionModel().currentChanged.connect(self._show)
        self.list.doubleClicked.connect(self._open)
        self._bar = OverlayBar(self.list)
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setFrameShape(QFrame.Shape.NoFrame)
        self.details.setTabChangesFocus(True)
        self.details.setAccessibleName(tr("The call’s arguments"))
        self.details.viewport().setAutoFillBackground(False)
        self.details.hide()
        FocusRing.of(theme).follow(self.list, self.details)
        self._line = Hairline(theme)
        self._line.hide()
        line = tr("Every call of a tool, without secrets. It stays when a chat is deleted.")
        column_of(
            [
                Label(theme, tr("Audit"), "title"),
                Label(theme, line, "ui", "text2", wrap=True),
                row_of([(self.field, 1), self.state, self.export], spacing=8),
                self.count,
                (self.list, 3),
                self._line,
                (self.details, 1),
            ],
            spacing=8,
            margins=(24, 24, 24, 0),
            on=self,
        )
        self._follow()
        theme.changed.connect(self._follow)

    def open(self, *target: str) -> None:
        self.field.setFocus()
        self.refresh()

    def refresh(self) -> None:
        """Show the calls as they are now, from the first."""
        states = tuple(s for s in get_args(AuditState) if s == self._chosen)
        self._wanted = AuditFilter(states=states, text=self.field.text())
        self._replace(self._look())

    def _state_chosen(self, key: str) -> None:
        self._chosen = key
        self.state.set_current(key)
        self.refresh()

    async def _look(self) -> None:
        wanted = self._wanted
        entries = await self._engine.store.audit(wanted, limit=PAGE)
        self.model.begin(entries, len(entries) < PAGE)
        self._show(QModelIndex())
        count = await self._engine.store.audit_count(wanted)
        self.count.setText(tr_plural("{count} call", "{count} calls", count))
        self.export.setEnabled(count > 0)

    def _fetch(self) -> None:
        if self._work is None or self._work.done():
            self._work = self._run(self._more())

    async def _more(self) -> None:
        entries = self.model.rows
        beyond = entries[-1].id if entries else 0
        page = await self._engine.store.audit(self._wanted, beyond=beyond, limit=PAGE)
        self.model.append(page, len(page) < PAGE)

    def _show(self, index: QModelIndex) -> None:
        entry: AuditEntry | None = index.data(Qt.ItemDataRole.UserRole)
        for widget in (self._line, self.details):
            widget.setVisible(entry is not None)
        if entry is not None:
            self.details.setPlainText(json.dumps(entry.arguments, indent=2, ensure_ascii=False))

    def _open(self, index: QModelIndex) -> None:
        self._run(self._open_chat(index.data(Qt.ItemDataRole.UserRole)))

    async def _open_chat(self, entry: AuditEntry) -> None:
        if await self._engine.store.get(entry.session_id) is None:
            self.count.setText(tr("This chat was deleted."))
        else:
            self.open_wanted.emit(entry.session_id)

    def _choose_file(self) -> None:
        chooser = QFileDialog(
            self.window(), tr("Export the audit"), "audit.jsonl", tr("JSON lines (*.jsonl)")
        )
        chooser.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        chooser.setDefaultSuffix("jsonl")
        chooser.fileSelected.connect(lambda path: self._run(self.save(Path(path))))
        chooser.finished.connect(chooser.deleteLater)
        self._chooser = chooser
        chooser.open()

    async def save(self, path: Path) -> None:
        """Write what the filter leaves to a file, as JSONL; raises ConfigurationError."""
        count = await export(self._engine.store, self._wanted, path)
        words = tr_plural("{count} call in {path}", "{count} calls in {path}", count, path=path)
        self.count.setText(words)

    def _follow(self) -> None:
        self.details.setFont(self._theme.font("code"))
        self.list.doItemsLayout()


def headline(entry: AuditEntry) -> str:
    return f"{entry.tool}  {' '.join(entry.target.split())}".rstrip()


def about(entry: AuditEntry) -> list[str]:
    """What else a row says, in words, without what is not known."""
    took = ""
    if entry.seconds is not None:
        took = tr("{number} s").format(number=decimal(entry.seconds))
    draft = tr("draft {draft}").format(draft=entry.draft) if entry.draft else ""
    result = tr_engine(entry.summary) or tr(STATES[entry.state][0])
    by = (
        tr("allowed: {decided_by}").format(decided_by=tr_engine(entry.decided_by))
        if entry.decided_by
        else ""
    )
    by = tr("denied by you") if entry.state == "denied" else by
    parts = (entry.agent, entry.title or tr("New chat"), by, result, draft, took)
    return [part for part in parts if part]
