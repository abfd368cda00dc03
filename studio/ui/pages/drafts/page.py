"""The Drafts page: drafts of all chats, decided by keys or mouse (T-5)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QKeySequence, QPainter, QResizeEvent, QShortcut
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.agent.changes.draft_review import DraftDecision
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.drafts import Draft
from studio.domain.errors import ConfigurationError
from studio.domain.sessions import DraftEntry
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import ago, number
from studio.ui.pages.page import Page, Run
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Hairline, Label, Segmented
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, keycaps_width, paint_keycaps, paint_text

from .detail import DraftDetail, ShownDraft
from .draft_list import DraftList, place_of

LIST, LEAST = 300, 420
"""Widths of the list and the least of a draft beside it, at text size 100 %."""
_FOOT = (("J", "K"), tr_later("Move")), (("X",), tr_later("Select")), (("?",), tr_later("All keys"))


class _Foot(PaintedWidget):
    """Keys and what they do. Where there is no room for all, the last ones stay."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("J and K move, X selects, question mark shows all keys"))

    def sizeHint(self) -> QSize:
        return QSize(200, self.theme.px(42))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        x, middle = float(t.px(16)), self.height() / 2
        shown = list(_FOOT)
        while len(shown) > 1 and x + sum(map(self._wide, shown)) > self.width():
            del shown[0]
        for keys, does in shown:
            words = tr(does)
            for key in keys:
                paint_keycaps(painter, t, QPointF(x, middle), key)
                x += keycaps_width(t, key) + t.px(4)
            wide = t.metrics("small").horizontalAdvance(words)
            place = QRectF(x + t.px(3), 0, wide + 2, rect.height())
            paint_text(painter, t, place, words, "small", "text2")
            x += wide + t.px(16)

    def _wide(self, hint: tuple[tuple[str, ...], str]) -> float:
        keys, does = hint
        caps = sum(keycaps_width(self.theme, key) + self.theme.px(4) for key in keys)
        return caps + self.theme.metrics("small").horizontalAdvance(tr(does)) + self.theme.px(16)


class DraftsPage(Page):
    """The list of drafts at the left, the chosen one at the right."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run)
        self._wanted: tuple[str, str] | None = None
        """What is to be chosen with the next look, should another one come between."""
        self._outdated = True
        """Whether the list has to be read before the chosen draft is shown."""
        self._last: list[tuple[str, list[str]]] = []
        """What was approved last: sessions and drafts."""
        self.list = DraftList(theme)
        self.list.selectionModel().currentChanged.connect(self._chosen)
        self.detail = DraftDetail(theme)
        self.detail.wanted.connect(self.do)
        self.detail.chat_wanted.connect(self._open_chat)
        self.detail.why_closed.connect(lambda: self._want_list(wanted=False))
        self._column, self._edge = self._left(), Hairline(theme, upright=True)
        row_of([self._column, self._edge, (self.detail, 1)], spacing=0, on=self)
        self.list_wanted = False
        """Whether the list is to be shown where it has no room beside a draft."""
        self.detail.list_wanted.connect(lambda: self._want_list(wanted=True))
        self.list.activated.connect(lambda _: self._want_list(wanted=False))
        self.list.clicked.connect(lambda _: self._want_list(wanted=False))
        theme.changed.connect(self._place)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # the keys work while the list is hidden
        for keys, does in (
            ("J", lambda: self.list.step(1)),
            ("K", lambda: self.list.step(-1)),
            ("X", self._mark),
            ("A", self._primary),
            ("E", lambda: self.do("edit")),
            ("D", lambda: self.do("discard")),
            ("Ctrl+Z", self._undo),
            ("?", self.keys_wanted.emit),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(does)

    def _left(self) -> QWidget:
        t, left = self._theme, QWidget()
        self.count = Label(t, "", "ui", "text2", digits=True)
        self.which = Segmented(t, [tr("Waiting"), tr("Done")])
        self.which.chosen.connect(lambda _: self.refresh())
        head = (Label(t, tr("Drafts"), "heading"), self.count, STRETCH, self.which)
        self._head_row = row_of(head)
        self._head = widget_of(self._head_row)
        column_of([self._head, Hairline(t), (self.list, 1), _Foot(t)], spacing=0, on=left)
        return left

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        """Give the list a column of its own, or where there is no room all of the page."""
        px = self._theme.px
        self._head.setFixedHeight(px(48))
        self._head_row.setSpacing(px(7))
        self._head_row.setContentsMargins(px(16), 0, px(10), 0)
        fits = self.width() - px(LIST) >= px(LEAST)
        alone = not fits and self.list_wanted
        if fits:
            self._column.setFixedWidth(px(LIST))
        else:
            self._column.setMinimumWidth(0)
            self._column.setMaximumWidth(self.width())
        self.detail.list_button.setVisible(not fits)
        self._column.setVisible(fits or alone)
        self._edge.setVisible(fits)
        self.detail.setVisible(not alone)

    def _want_list(self, *, wanted: bool) -> None:
        self.list_wanted = wanted
        self._place()
        (self.list if self.list.isVisible() else self).setFocus(Qt.FocusReason.OtherFocusReason)

    # -- what it shows --------------------------------------------------------------------

    def open(self, *target: str) -> None:
        """``target`` is the id of a session, or nothing, and that of a draft to choose."""
        self._want_list(wanted=False)
        self.refresh((target[0], target[1]) if target and target[1] else None)

    async def drafts_changed(self, session: Session) -> None:
        self.refresh()

    def refresh(self, wanted: tuple[str, str] | None = None) -> None:
        """Show the drafts as they are now; a session's and a draft's id choose one."""
        if wanted is not None:
            self.which.set_current(0)
            self._wanted = wanted
        self._outdated = True
        self._replace(self._show())

    async def _read(self) -> None:
        done = self.which.current == 1
        entries = await self._engine.store.drafts(done=done)
        if self._wanted and not done and place_of(self._wanted, entries) is None:
            decided = await self._engine.store.drafts(done=True)
            if place_of(self._wanted, decided) is not None:
                self.which.set_current(1)
                entries = decided
        self._outdated = False
        self.list.selectionModel().blockSignals(True)
        self.list.show_entries(entries, self._wanted)
        self._wanted = None
        self.list.selectionModel().blockSignals(False)
        self.list.viewport().update()
        self.count.setText(number(len(entries)) if entries else "")

    def _chosen(self, index: QModelIndex) -> None:
        self._wanted = None
        self._replace(self._show())

    async def _show(self) -> None:
        if self._outdated:  # also where another draft was chosen during the reading
            await self._read()
        entry = self.list.entry
        if entry is None:
            done = self.which.current == 1
            self.detail.clear(
                tr("Nothing was decided yet.") if done else tr("No draft waits for you.")
            )
            return
        session = await self._engine.sessions.open(entry.session_id)
        draft = session.drafts.get(entry.draft_id)
        if draft is None:
            raise ConfigurationError(
                tr("The draft of {path} cannot be read any more.").format(path=entry.path)
            )
        conflict = await session.review.conflict(draft.id) if draft.status == "conflict" else None
        agents = await self._engine.agents()
        agent = agents.get(entry.agent)
        shown = ShownDraft(
            entry,
            draft,
            conflict,
            agent.icon if agent else "sparkle",
            agent.hue if agent else "slate",
            ago(time.time() - (entry.resolved or entry.created)),
        )
        await self.detail.show_draft(shown, len(self.list.drafts.marked))

    # -- what the person does -------------------------------------------------------------

    def do(self, action: str) -> None:
        """What a button or a key says, if it is offered."""
        button = self.detail.buttons.get(action)
        if self.detail.shown is None or button is None or button.isHidden():
            return
        if not button.isEnabled():
            return
        if self.detail.isHidden():  # nobody decides what they do not see
            self._want_list(wanted=False)
            return
        if action == "discard" and not self.detail.asks_why:
            self.detail.ask_why()
            return
        entries = self.list.marked
        if action in ("approve", "discard", "undo"):
            self._run(self._decide(action, entries))  # type: ignore[arg-type]  # one of three
        else:
            self._run(self._rework(action, self.detail.shown))

    def _primary(self) -> None:
        for action in ("approve", "merge", "anew"):
            self.do(action)

    def _mark(self) -> None:
        self.list.mark()
        self._replace(self._show())

    def _undo(self) -> None:
        """What is shown as done; or else what was approved here last."""
        if self.which.current == 1:
            self.do("undo")
        elif self._last:
            last, self._last = self._last, []
            self._run(self._carry_out("undo", last))

    def _open_chat(self) -> None:
        if self.detail.shown is not None:
            self.open_wanted.emit(self.detail.shown.entry.session_id)

    async def _decide(self, decision: DraftDecision, entries: Sequence[DraftEntry]) -> None:
        reason = self.detail.reason.text() if decision == "discard" else ""
        if self.detail.asks_why:
            self.detail.close_why()
            self._want_list(wanted=False)
        owners = dict.fromkeys(entry.session_id for entry in entries)
        wanted = [
            (owner, [entry.draft_id for entry in entries if entry.session_id == owner])
            for owner in owners
        ]
        await self._carry_out(decision, wanted, reason)

    async def _carry_out(
        self, decision: DraftDecision, wanted: list[tuple[str, list[str]]], reason: str = ""
    ) -> None:
        status = {"approve": "approved", "discard": "discarded", "undo": "undone"}[decision]
        self.list.drafts.marked.clear()
        failed: list[str] = []
        done: list[tuple[str, list[str]]] = []
        for owner, ids in wanted:
            session = await self._engine.sessions.open(owner)
            acts = self.chat.decided(decision, session, ids) if self.chat is not None else {}
            decided = await session.review.decide_all(decision, ids, acts, reason)
            done.append((owner, [one for one, now in decided.items() if now == status]))
            # A conflict is shown in its row, with a way out.
            left = [one for one, now in decided.items() if now not in (status, "conflict")]
            failed += _details(session, left)
        if decision == "approve":
            self._last = done
        self.decided.emit()
        self.refresh()
        if failed:
            raise ConfigurationError("\n".join(failed))

    async def _rework(self, action: str, shown: ShownDraft) -> None:
        """Give the draft another text, or make it anew on top of the file as it is now."""
        session = await self._engine.sessions.open(shown.entry.session_id)
        draft, conflict = shown.draft, shown.conflict
        merge = conflict.merge if conflict else None
        made: Draft | None = None
        if action == "edit":
            from studio.ui.chat.dialogs import edit_draft

            text = await edit_draft(self._theme, draft, self, merge.text if merge else None)
            if text is None:
                return
            resolved = session.review.resolve if conflict else session.review.edit
            made = await resolved(draft.id, text)
        elif conflict is not None:
            # What moves or goes as it is needs no text; a text whose file is gone does.
            about = draft.describe()
            keeps = about.action == "delete" or (about.action == "move" and not about.rewrites)
            text = None if keeps else about.after
            if action == "merge" and merge is not None:
                text = merge.text
            try:
                made = await session.review.resolve(draft.id, text, conflict)
            except ConfigurationError:  # the file changed again: show what it is now
                self.refresh()
                raise
        self.decided.emit()
        self.refresh((shown.entry.session_id, made.id) if made else None)


def _details(session: Session, draft_ids: Sequence[str]) -> list[str]:
    found = {draft.id: detail for draft, detail in session.transcript.draft_details}
    return [tr_engine(found[one]) or tr("This draft is decided already.") for one in draft_ids]
