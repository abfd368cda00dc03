"""Draft desk: lets a command see the drafts of its turn, and makes drafts of what it writes.

The command works on a copy of the folder, so nothing that it does there is in the folder
before the person approves it. A command that goes on in the background keeps its copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from studio.domain.drafts import FileDraft
from studio.domain.errors import ToolFailed
from studio.processes.desk import Desk, DeskChanges, DeskTooLarge, laid
from studio.tools.sdk.context import Context
from studio.tools.workspace.encodings import decode, encode
from studio.tools.workspace.text_files import read_whole

from .draft_make import make_delete, make_draft, make_further

MOST = 100
"""Files that one command may change as drafts."""
_NAMED = 10


class DraftDesk:
    """What one command sees of the turn's drafts. ``desk`` is None where it sees none of them."""

    def __init__(
        self,
        context: Context,
        desk: Desk | None = None,
        drafts: Sequence[FileDraft] | None = None,
    ) -> None:
        """``desk`` and ``drafts`` are those that a command of another call works on."""
        self._context = context
        self.desk = desk
        self.of_step = context.workspace.desk
        """The desk of the whole session; there no draft waits."""
        self.drafts = context.drafts.waiting(of_turn=True) if drafts is None else drafts
        self.unseen = context.drafts.waiting(of_turn=False) if drafts is None else ()
        self._reason = ""

    async def lay(self) -> None:
        """Copy the folder with the drafts in it, if there are any."""
        if not self.drafts or self.of_step is not None:
            return
        if not self._context.sandbox.desks:
            self._reason = "there is no sandbox for that here"
            return
        try:
            self.desk = await laid(self._lay)
        except DeskTooLarge as error:
            self._reason = str(error)
        except (OSError, ToolFailed) as error:
            self._reason = f"the folder cannot be copied: {error}"

    async def remove(self) -> None:
        if self.desk is not None:
            await asyncio.to_thread(self.desk.remove)

    @property
    def shown(self) -> Desk | None:
        """What the command finds in the folder's place."""
        return self.desk or self.of_step

    @property
    def root(self) -> Path:
        """Where the command finds the folder's files, as this program sees them."""
        return self._context.workspace.root if self.desk is None else self.desk.root

    async def report(self, *, failed: bool) -> str:
        """Make drafts of what was written; what is to be said of that, and of the drafts."""
        lines = [self.seen()]
        if self.desk is not None:
            if failed and self.desk.shared:
                shared = ", ".join(self.desk.shared[:_NAMED])
                lines.append(f"There it could not write in {shared}, nor outside the folder.")
            lines += await self._bring_back(await asyncio.to_thread(self.desk.changes))
        return " ".join(filter(None, lines))

    def seen(self, *, goes_on: bool = False) -> str:
        """What is to be said of the drafts that the command sees, and does not see."""
        lines: list[str] = []
        unseen = [*self.unseen, *(self.drafts if self.desk is None else ())]
        if unseen:
            why = f", because {self._reason}" if self._reason else ""
            see = "does" if goes_on else "did"
            lines.append(f"This {see} not see drafts that wait: {_named(unseen)}{why}.")
        if self.desk is not None and goes_on:
            lines.append(
                f"It works on a copy of the folder, with the drafts of this turn until now: "
                f"{_named(self.drafts)}. Later changes are not in it. What it writes waits as "
                "drafts once you have looked at it after its end."
            )
        elif self.desk is not None:
            lines.append(
                f"This ran on a copy of the folder, with the drafts of this turn: "
                f"{_named(self.drafts)}. The folder is unchanged."
            )
        return " ".join(lines)

    def _lay(self) -> Desk:
        contents: dict[str, bytes | None] = {}
        for draft in self.drafts:
            contents[draft.path] = None
            if draft.action == "write":
                contents[draft.path] = encode(draft.after, draft.encoding)
            elif draft.action == "move":
                contents[draft.target] = self._moved(draft)
        return Desk.lay(self._context.workspace.root, contents)

    def _moved(self, draft: FileDraft) -> bytes:
        if draft.before is not None:
            return encode(draft.after, draft.encoding)
        place = self._context.workspace.file(draft.path, write=True)
        return read_whole(place, draft.path)  # no text, so that it is moved as it is

    async def _bring_back(self, changes: DeskChanges) -> list[str]:
        made: list[str] = []
        lost, late = [*changes.other], list[str]()
        gone = frozenset(changes.deleted)
        for name in [*changes.written, *changes.deleted]:
            if len(made) >= MOST or _visible(name) != name:
                lost.append(name)
                continue
            if await asyncio.to_thread(self._moved_on, name):
                late.append(name)
                continue
            try:
                if await (self._deleted(name) if name in gone else self._changed(name)):
                    made.append(name)
            except (ToolFailed, OSError):
                lost.append(name)
        lines: list[str] = []
        if made:
            lines.append(f"What it wrote waits as drafts: {_listed(made)}.")
        if lost:
            names = _listed(list(dict.fromkeys(lost)))
            lines.append(
                f"Not kept, because no draft can be made of it: {names}. Once the drafts are "
                "approved, run it again."
            )
        if late:
            lines.append(
                f"Not kept, because it was changed meanwhile: {_listed(late)}. Run it again."
            )
        return lines

    def _moved_on(self, name: str) -> bool:
        """Whether a file, or the draft of it, is another one than the command began with."""
        assert self.desk is not None
        began = next((one for one in self.drafts if name in one.paths), None)
        now = self._context.drafts.draft_of(name)
        if began is None and now is None:
            return self.desk.outdated(name)
        return began is None or now is None or began.id != now.id

    async def _deleted(self, name: str) -> bool:
        """Make a draft that deletes a file; returns True.

        The desk is not looked at: what is at the path now may be behind a link.
        """
        context = self._context
        waiting = context.drafts.draft_of(name)
        if waiting is not None and not waiting.base_digest:  # the file is only a draft yet
            await context.drafts.withdraw(waiting)
            return True
        draft = await asyncio.to_thread(make_delete, context.workspace, name)
        await context.drafts.propose(draft)
        return True

    async def _changed(self, name: str) -> bool:
        """Make a draft of a file of the desk; False if that is what was there."""
        context = self._context
        waiting = context.drafts.draft_of(name)
        draft = await asyncio.to_thread(self._written, name, waiting)
        if draft is not None:
            await context.drafts.propose(draft)
        elif waiting is not None and waiting.action == "delete":  # it is there again, as it was
            await context.drafts.withdraw(waiting)
            return True
        return draft is not None

    def _written(self, name: str, waiting: FileDraft | None) -> FileDraft | None:
        assert self.desk is not None
        data = read_whole(self.desk.root / name, name)
        text, _ = decode(data, name)
        if waiting is not None and waiting.action != "delete":
            if name != (waiting.target or waiting.path):
                raise ToolFailed(f"A draft moves {name} away.")
            draft = make_further(waiting, text)
            before: str | None = waiting.after
        else:
            draft = make_draft(self._context.workspace, name, text)
            before = draft.before
        if encode(text, draft.encoding) != data:
            raise ToolFailed(f"{name} has another encoding now.")
        return None if text == before else draft


def _named(drafts: Sequence[FileDraft]) -> str:
    return _listed(list(dict.fromkeys(draft.label for draft in drafts)))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(_visible, names[:_NAMED])) + more


def _visible(name: str) -> str:
    """The name of a file, which may be no text."""
    return name.encode("utf-8", "replace").decode()
