"""The Memory page: the notes of agents and of the person, decided by keys or mouse (W-44)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QModelIndex

from studio.agent.engine import Engine
from studio.agent.session.memory import MOST_TITLES, MOST_TOKENS, fitting, title_tokens
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.tools.memory.note import KINDS, Kind, Note
from studio.tools.memory.note_index import Entry, State
from studio.tools.memory.note_store import EVERYWHERE, Change, place_of
from studio.tools.memory.order_marks import marks_of
from studio.ui.chat.dialogs import edit_text
from studio.ui.formatting import number, short_path
from studio.ui.inspector.board_list import BoardFacts, read_board
from studio.ui.pages.list_detail import ListDetailPage
from studio.ui.pages.page import Run
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Field, Hairline, IconButton, Label, Segmented
from studio.ui.widgets.key_foot import KeyFoot
from studio.ui.widgets.layouts import STRETCH, row_of, widget_of

from .board_pane import BoardPane, BoardsList
from .note_detail import NoteDetail, ShownNote
from .note_facts import HERE, FactsPane, NoteFacts
from .note_list import NoteList

T = TypeVar("T")
FACTS = 290
"""Width of the facts, at text size 100 %."""
MOST = 500
"""Notes in the list; a search finds the others."""
HINTS = (
    (("J", "K"), tr_later("Move")),
    (("A",), tr_later("Keep")),
    (("D",), tr_later("Drop")),
    (("M",), tr_later("Merge")),
)


class MemoryPage(ListDetailPage[NoteList, NoteDetail]):
    """The list of notes at the left, the chosen one beside it, and at the right its facts."""

    widths = (380, 400)

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run, NoteList(theme), NoteDetail(theme))
        self._store = engine.services.note_store
        self._changes: list[Change] = []
        """What was decided here, the last one last."""
        self._wanted: tuple[str, str] | None = None
        self._outdated = True
        self.list.selectionModel().currentChanged.connect(self._chosen)
        self.detail.wanted.connect(self.do)
        self.detail.merge_wanted.connect(lambda into: self._run(self._merge(into)))
        self.detail.chat_wanted.connect(self._open_chat)
        self.facts = FactsPane(theme)
        self.facts.kind_chosen.connect(lambda kind: self._run(self._change_kind(kind)))
        self.facts.place_chosen.connect(lambda place: self._run(self._move(place)))
        self.facts.keeps_changed.connect(lambda on: self._run(self._keep_next_time(on)))
        self._facts_edge = Hairline(theme, upright=True)
        self.boards, self.board_pane = BoardsList(theme), BoardPane(theme)
        chosen_board = self.boards.selectionModel().currentChanged
        chosen_board.connect(lambda *_: self._run(self._show_board()))
        for chosen in (self.boards.activated, self.boards.clicked):
            chosen.connect(lambda _: self._want_list(wanted=False))
        self.board_pane.list_button.clicked.connect(lambda: self._want_list(wanted=True))
        self.board_pane.opened.connect(self._open_board)
        self._make_list()
        self._add_keys(
            {
                "J": lambda: self._step(1),
                "K": lambda: self._step(-1),
                "A": lambda: self.do("keep"),
                "E": lambda: self.do("edit"),
                "D": lambda: self.do("drop"),
                "M": self._merge_first,
                "N": lambda: self._run(self._write_new()),
                "Ctrl+Z": lambda: self.do("undo"),
            }
        )

    def _make_list(self) -> None:
        t = self._theme
        self.count = Label(t, "", "ui", "text2", digits=True)
        self.new = IconButton(t, "plus", tr("New note"))
        self.new.clicked.connect(lambda: self._run(self._write_new()))
        self.search = Field(t, tr("Search notes"), "search")
        self.search.textChanged.connect(lambda _: self.refresh())
        self.which = Segmented(t, [tr("All"), tr("This folder")], name=tr("Notes"))
        self.which.chosen.connect(lambda _: self.refresh())
        self.kind = Segmented(t, [tr("Notes"), tr("Board")], name=tr("Show"))
        self.kind.chosen.connect(lambda _: self.refresh())
        self._find = widget_of(
            row_of(
                [(self.search, 1), self.which],
                spacing=t.px(6),
                margins=(t.px(10), t.px(8), t.px(10), t.px(4)),
            )
        )
        hints = [(keys, tr(does)) for keys, does in HINTS]
        self._foot = KeyFoot(t, hints, tr("J and K move, A keeps, D drops, M merges"))
        self._lay_out(
            (Label(t, tr("Memory"), "heading"), self.count, STRETCH, self.kind, self.new),
            (self._find, (self.list, 1), (self.boards, 1), self._foot),
            ((self.board_pane, 1), self._facts_edge, self.facts),
        )

    def _step(self, rows: int) -> None:
        """Go to the next note or board, or the one before."""
        if self.shows_boards:
            at = self.boards.currentIndex().row() + rows
            if 0 <= at < len(self.boards.boards.rows):
                self.boards.setCurrentIndex(self.boards.boards.index(at))
        else:
            self.list.step(rows)

    def _place(self) -> None:
        """Give each column its room; where there is none for all, the facts go, then the list."""
        super()._place()
        three = self.width() >= self._theme.px(sum(self.widths) + FACTS)
        self.facts.setFixedWidth(self._theme.px(FACTS))
        boards = self.shows_boards
        for part in (self._find, self.list, self._foot, self.new):
            part.setVisible(not boards)
        self.boards.setVisible(boards)
        self.board_pane.setVisible(boards and self.detail.isVisibleTo(self))
        self.board_pane.list_button.setVisible(self.detail.list_button.isVisibleTo(self.detail))
        self.detail.setVisible(not boards and self.detail.isVisibleTo(self))
        beside = three and self.detail.shown is not None and not boards
        self.facts.setVisible(beside)
        self._facts_edge.setVisible(beside)

    # -- what it shows --------------------------------------------------------------------

    def open(self, *target: str) -> None:
        self._want_list(wanted=False)
        if not self._folder:
            self.which.set_current(0)
        self.which.setEnabled(bool(self._folder))
        self.refresh()

    def refresh(self, wanted: tuple[str, str] | None = None) -> None:
        """Show the notes as they are now; the place and name of one choose it."""
        self._wanted = wanted or self._wanted
        self._outdated = True
        self._place()
        if self.shows_boards:
            self._run(self._list_boards())
        else:
            self._replace(self._show())

    @property
    def shows_boards(self) -> bool:
        """Whether the boards of chats and runs are shown, in place of the notes."""
        return self.kind.current == 1

    async def _list_boards(self) -> None:
        found = await self._engine.services.boards.summaries(MOST)
        self.count.setText(number(len(found)) if found else "")
        self.boards.show_boards(found)
        await self._show_board()

    async def _show_board(self) -> None:
        board, facts = self.boards.board, BoardFacts()
        if board is not None:
            facts = await read_board(self._engine.services.boards, board.root)
        if board == self.boards.board:
            self.board_pane.show_board(board, facts)

    def _open_board(self) -> None:
        if (board := self.boards.board) is None:
            return
        if board.root.kind == "run":
            self.page_wanted.emit("workflows", "run", board.root.id)
        else:
            self.open_wanted.emit(board.root.id)

    @property
    def _folder(self) -> str:
        return self.chat.options.folder if self.chat is not None else ""

    @property
    def _here(self) -> str:
        return place_of(Path(self._folder)) if self._folder else EVERYWHERE

    def _places(self) -> list[str]:
        if self.which.current == 0:
            return self._store.places()
        return list(dict.fromkeys([self._here, EVERYWHERE]))

    async def _read(self) -> None:
        words = self.search.text().strip()

        def look() -> tuple[list[Entry], list[Entry], int]:
            places = self._places()
            if not places:
                return [], [], 0
            index = self._store.index
            if words:
                found = [index.find(places, words, state=s, limit=50) for s in ("proposed", "kept")]
            else:
                found = [index.entries(places, s, limit=MOST) for s in ("proposed", "kept")]
            return found[0], found[1], index.count(places, "kept")

        waiting, kept, count = await _asked(look)
        self._outdated = False
        rows: list[str | Entry] = []
        if waiting:
            heading = tr("Waiting for you")
            rows += [f"{heading}  {number(len(waiting))}", *waiting]
        if kept:
            here = self.which.current == 1 and self._folder
            folder = short_path(self._folder) if here else ""
            heading = tr("Notes in {folder}").format(folder=folder) if folder else tr("Notes")
            shown = number(len(kept) if words else count)
            rows += [f"{heading}  {shown}", *kept]
        self.list.selectionModel().blockSignals(True)
        self.list.show_rows(rows, self._wanted)
        self._wanted = None
        self.list.selectionModel().blockSignals(False)
        self.list.viewport().update()
        self.count.setText(number(count) if count else "")

    def _chosen(self, index: QModelIndex) -> None:
        self._replace(self._show())

    async def _show(self) -> None:
        if self._outdated:
            await self._read()
        entry = self.list.entry
        found = None if entry is None else await self._look_at(entry)
        if found is None:
            empty = tr("Nothing remembered yet. Agents propose, you keep.")
            searched = bool(self.search.text().strip())
            words = tr("No note has these words.") if searched else empty
            self.detail.clear(words, undo=bool(self._changes))
            self._place()
            return
        shown, facts = found
        self.detail.show_note(shown, undo=bool(self._changes))
        self.facts.show_facts(facts)
        self._place()

    async def _look_at(self, entry: Entry) -> tuple[ShownNote, NoteFacts] | None:
        store, index = self._store, self._store.index

        def look() -> tuple[Note, list[Entry], list[Entry], str] | None:
            note = store.get(entry.place, entry.name, entry.state)
            if note is None:
                return None
            close = [] if note.forgets else index.close_to(entry)
            trusted = index.entries(
                [entry.place, EVERYWHERE], "kept", trusts=("yours", "agent"), limit=4 * MOST_TITLES
            )
            return note, close, trusted, store.about(entry.place)

        found = await _asked(look)
        if found is None:
            return None
        note, close, trusted, folder = found
        session = await self._engine.store.get(note.session) if note.session else None
        told = fitting([one for one in trusted if one.trust == "yours" or not one.marked])
        return (
            ShownNote(
                note,
                marks_of(note.text),
                close,
                "" if session is None else session.title or tr("New chat"),
            ),
            NoteFacts(
                note,
                "" if note.place == EVERYWHERE else short_path(folder),
                short_path(self._folder),
                f"{note.name}.md",
                note.by in self._engine.settings.values.keep_notes_of,
                len(told),
                sum(map(title_tokens, told)),
                MOST_TOKENS,
            ),
        )

    # -- what the person does -------------------------------------------------------------

    def do(self, action: str) -> None:
        """What a button or a key says, if it is offered."""
        button = self.detail.buttons[action]
        if button.isHidden():
            return
        if self.detail.isHidden():  # nobody decides what they do not see
            self._want_list(wanted=False)
            return
        if action == "undo":
            self._run(self._undo())
        elif self.detail.shown is not None:
            note = self.detail.shown.note
            work = {"keep": self._keep, "drop": self._drop, "edit": self._edit}[action]
            self._run(work(note))

    async def _keep(self, note: Note) -> None:
        await self._decide(lambda: self._store.keep(note.place, note.name))

    async def _drop(self, note: Note) -> None:
        state: State = "proposed" if note.proposed else "kept"
        await self._decide(lambda: self._store.drop(note.place, note.name, state))

    async def _edit(self, note: Note) -> None:
        text = await self._ask_text(tr("Edit {name}").format(name=note.name), note.text, tr("Save"))
        if text is not None and text != note.text:
            await self._decide(lambda: self._store.edit(note, text), (note.place, note.name))

    async def _change_kind(self, kind: str) -> None:
        shown = self.detail.shown
        kinds: dict[str, Kind] = {one: one for one in KINDS}
        known = kinds.get(kind)
        if shown is not None and known is not None and known != shown.note.kind:
            note = shown.note
            await self._decide(
                lambda: self._store.edit(note, note.text, known), (note.place, note.name)
            )

    async def _move(self, wanted: str) -> None:
        shown = self.detail.shown
        place = self._here if wanted == HERE else EVERYWHERE
        if shown is None or place == shown.note.place or shown.note.proposed:
            return
        note, folder = shown.note, Path(self._folder) if wanted == HERE else None
        await _asked(lambda: self._store.move(note, place, folder))
        self._changed((place, note.name))

    def _merge_first(self) -> None:
        shown = self.detail.shown
        if shown is not None and shown.close and not self.shows_boards:
            self._run(self._merge(shown.close[0]))

    async def _merge(self, entry: Entry) -> None:
        """Make one note of the shown one and this; the person writes its words."""
        shown = self.detail.shown
        into = await _asked(lambda: self._store.get(entry.place, entry.name, entry.state))
        if shown is None or into is None:
            return
        note = shown.note
        text = await self._ask_text(
            tr("Merge {name} into {other}").format(name=note.name, other=into.name),
            f"{into.text}\n\n{note.text}",
            tr("Merge"),
        )
        if text is not None:
            await self._decide(lambda: self._store.merge(note, into, text), (into.place, into.name))

    async def _write_new(self) -> None:
        if self.shows_boards:
            return
        text = await self._ask_text(tr("New note"), "", tr("Keep"))
        if not text or not text.strip():
            return
        place, folder = self._here, Path(self._folder) if self._folder else None

        def write() -> tuple[Change, str]:
            name = self._store.new_name(place, text)
            note = Note(name, text, written=time.time(), kind="fact", place=place)
            return self._store.write(note, folder), name

        change, name = await _asked(write)
        self._changes.append(change)
        self._changed((place, name))

    async def _ask_text(self, title: str, text: str, keep: str) -> str | None:
        edited = await edit_text(
            self._theme, text, self, title=title, name=tr("Note"), keep=keep, code=False
        )
        self._want_list(wanted=False)  # the keys go on there
        return edited

    async def _keep_next_time(self, on: bool) -> None:
        """Keep the notes of the shown note's agent from now on without asking, or no longer."""
        shown, values = self.detail.shown, self._engine.settings.values
        if shown is None or not shown.note.by:
            return
        others = [one for one in values.keep_notes_of if one != shown.note.by]
        values.keep_notes_of = [*others, shown.note.by] if on else others
        await self._engine.settings.save()

    async def _decide(
        self, work: Callable[[], Change], wanted: tuple[str, str] | None = None
    ) -> None:
        self._changes.append(await _asked(work))
        self._changed(wanted)

    async def _undo(self) -> None:
        if self._changes:
            last = self._changes.pop()
            await _asked(lambda: self._store.undo(last))
            self._changed((last.place, last.steps[-1][1]))

    def _changed(self, wanted: tuple[str, str] | None) -> None:
        self.decided.emit()
        self.refresh(wanted)

    def _open_chat(self) -> None:
        if self.detail.shown is not None and self.detail.shown.note.session:
            self.open_wanted.emit(self.detail.shown.note.session)


async def _asked(work: Callable[[], T]) -> T:
    """What the store says; raises ConfigurationError, which the person is shown."""
    try:
        return await asyncio.to_thread(work)
    except ToolFailed as failure:
        raise ConfigurationError(str(failure)) from failure
