"""The Drafts page: drafts of all chats, decided by keys or mouse (T-5)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QModelIndex

from studio.agent.changes.draft_review import DraftDecision
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.drafts import Draft
from studio.domain.errors import ConfigurationError
from studio.domain.sessions import DraftEntry
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import ago, number
from studio.ui.pages.list_detail import ListDetailPage
from studio.ui.pages.page import Run
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Label, Segmented
from studio.ui.widgets.key_foot import KeyFoot
from studio.ui.widgets.layouts import STRETCH

from .detail import DraftDetail, ShownDraft
from .draft_list import DraftList, place_of

HINTS = (
    (("J", "K"), tr_later("Move")),
    (("X",), tr_later("Select")),
    (("?",), tr_later("All keys")),
)


def foot_of(theme: Theme) -> KeyFoot:
    """The last ones stay: with them all others are found."""
    hints = [(keys, tr(does)) for keys, does in HINTS]
    spoken = tr("J and K move, X selects, question mark shows all keys")
    return KeyFoot(theme, hints, spoken, last_stay=True)


class DraftsPage(ListDetailPage[DraftList, DraftDetail]):
    """The list of drafts at the left, the chosen one at the right."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run, DraftList(theme), DraftDetail(theme))
        self._wanted: tuple[str, str] | None = None
        """What is to be chosen with the next look, should another one come between."""
        self._outdated = True
        """Whether the list has to be read before the chosen draft is shown."""
        self._last: list[tuple[str, list[str]]] = []
        """What was approved last: sessions and drafts."""
        self.list.selectionModel().currentChanged.connect(self._chosen)
        self.detail.wanted.connect(self.do)
        self.detail.chat_wanted.connect(self._open_chat)
        self.detail.why_closed.connect(lambda: self._want_list(wanted=False))
        self.count = Label(theme, "", "ui", "text2", digits=True)
        self.which = Segmented(theme, [tr("Waiting"), tr("Done")])
        self.which.chosen.connect(lambda _: self.refresh())
        self._lay_out(
            (Label(theme, tr("Drafts"), "heading"), self.count, STRETCH, self.which),
            ((self.list, 1), foot_of(theme)),
        )
        self._add_keys(
            {
                "J": lambda: self.list.step(1),
                "K": lambda: self.list.step(-1),
                "X": self._mark,
                "A": self._primary,
                "E": lambda: self.do("edit"),
                "D": lambda: self.do("discard"),
                "Ctrl+Z": self._undo,
            }
        )

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
            async with self._engine.sessions.working_with(owner) as session:
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
        # Nobody puts it away while the person types: the text would be lost.
        async with self._engine.sessions.working_with(shown.entry.session_id) as session:
            await self._rework_in(session, action, shown)

    async def _rework_in(self, session: Session, action: str, shown: ShownDraft) -> None:
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
