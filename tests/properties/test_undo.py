"""Any drafts and any commands, in any order, with another hand in the same folder (T-5)."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from studio.agent.changes.draft_store import DraftStore
from studio.agent.changes.folder_tracker import FolderTracker
from studio.agent.changes.undo import Undo
from studio.domain.drafts import Draft
from studio.domain.errors import ToolFailed
from studio.domain.events import Event, FilesChanged, TurnStarted
from studio.domain.sessions import SessionInfo
from studio.domain.transcript import Transcript
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.sessions.store import SessionStore
from studio.storage.snapshots.blob_store import BlobStore, digest_of
from studio.tools import DraftConflict, Workspace, make_draft, make_move

T = TypeVar("T")
NAMES = st.sampled_from(["a", "b.txt", "x y", "ü", "d/a", "d/e/b", "n/c", "-z"])
BODIES = st.sampled_from([b"", b"one\n", b"two\n", bytes(range(256)), b"\r\n" * 3000])

COMMANDS = st.one_of(
    st.builds("mkdir -p -- \"$(dirname -- '{0}')\"; cp /dev/stdin '{0}'".format, NAMES),
    st.builds("cat >> '{}'".format, NAMES),
    st.builds("rm -rf -- '{}'".format, st.sampled_from(["a", "b.txt", "d", "d/e", "n"])),
    st.builds("mv -f -- '{}' '{}'".format, NAMES, NAMES),
    st.builds("cp -R -- '{}' '{}'".format, st.sampled_from(["d", "n", "a"]), NAMES),
    st.builds("chmod {} '{}'".format, st.sampled_from(["755", "600", "444"]), NAMES),
    st.builds("chmod {} '{}'".format, st.sampled_from(["700", "755", "500"]), st.just("d")),
    st.builds(
        'ln -sfn "{}" "{}"'.format, st.sampled_from(["a", "d", "$OUTSIDE", "nowhere"]), NAMES
    ),
    st.builds("mkdir -p -- '{}'".format, st.sampled_from(["n/o/p", "d/e/f", "a"])),
)


def tree(root: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for place in root.rglob("*"):
        found[place.relative_to(root).as_posix()] = state(place)
    return found


def state(place: Path) -> str:
    try:
        info = place.lstat()
    except OSError:
        return ""
    if stat.S_ISLNK(info.st_mode):
        return f"link {os.readlink(place)}"  # noqa: PTH115
    mode = f"{stat.S_IMODE(info.st_mode):o}"
    if stat.S_ISDIR(info.st_mode):
        return f"folder {mode}"
    return f"file {mode} {digest_of(place.read_bytes())}"


class Chat:
    """The part of a session that undo reads."""

    def __init__(self, folder: Path) -> None:
        now = time.time()
        self.info = SessionInfo(
            "s", "", str(folder), "Coder", "simulator", "m", "ask", created=now, updated=now
        )
        self.transcript = Transcript()
        self.drafts = DraftStore()

    def record(self, event: Event) -> None:
        self.transcript.apply(event)

    async def flush(self) -> None:
        """Events are on the disk at once."""


class Folder(RuleBasedStateMachine):
    """Turns of drafts and commands, their undo and redo, and another hand at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.root, self.outside = self.home / "work", self.home / "outside"
        self.root.mkdir()
        self.outside.mkdir()
        self.loop = asyncio.new_event_loop()
        self.db = Database(self.home / "studio.db", MIGRATIONS)
        self.do(self.db.open())
        store = SessionStore(self.db)
        self.chat = Chat(self.root)
        self.do(store.create(self.chat.info))
        self.folders = FolderTracker(
            BlobStore(self.home / "snapshots.db"), store.changes, lambda: ()
        )
        self.undo = Undo(self.chat, self.folders, store.changes, lambda: self.workspace)
        self.chat.drafts.track_changes = self.undo.writing
        self.workspace = Workspace(self.root)
        self.turn_id = ""
        self.before: dict[str, str] = {}
        self.done: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.undone: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.others: dict[str, str] = {}
        """What another hand wrote, and no agent changed since."""
        self.alone = True
        """Nobody else wrote anything during this turn."""

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize()
    def fill(self) -> None:
        (self.root / "d" / "e").mkdir(parents=True)
        (self.root / "a").write_bytes(b"alpha\n")
        (self.root / "d" / "a").write_bytes(bytes(1000))
        (self.root / "d" / "e" / "b").symlink_to("../a")
        self.begin()

    def begin(self) -> None:
        self.turn_id = uuid.uuid4().hex
        self.chat.record(
            TurnStarted("s", self.turn_id, (), "Coder", "simulator", "m", "background")
        )
        self.before, self.alone = tree(self.root), True
        self.do(self.undo.begin(self.turn_id, str(self.root), acts=True))

    @rule(command=COMMANDS, body=BODIES)
    def command(self, command: str, body: bytes) -> None:
        async def run() -> None:
            async with self.undo.acting():
                await asyncio.to_thread(
                    subprocess.run, ["sh", "-c", command], cwd=self.root, input=body,
                    # No relative way out: one link upward after the other leads anywhere.
                    env={**os.environ, "OUTSIDE": str(self.outside)},
                    stderr=subprocess.DEVNULL, check=False,
                )  # fmt: skip

        self.changing(run())

    @rule(path=NAMES, text=st.sampled_from(["", "one\n", "drafted\n"]))
    def write(self, path: str, text: str) -> None:
        self.draft(lambda: make_draft(self.workspace, path, text))

    @rule(path=NAMES, to=NAMES)
    def move(self, path: str, to: str) -> None:
        self.draft(lambda: make_move(self.workspace, path, to))

    def draft(self, make: Any) -> None:
        with suppress(ToolFailed, DraftConflict, OSError):
            made: Draft = make()
            self.changing(
                self.chat.drafts.add("", [made], self.workspace, self.chat.record, approve=True)
            )

    def changing(self, work: Coroutine[Any, Any, object]) -> None:
        """What an agent does to another hand's file is the agent's from then on."""
        self.do(work)
        self.others = {p: s for p, s in self.others.items() if state(self.root / p) == s}

    @rule(path=NAMES)
    def another_hand(self, path: str) -> None:
        place = self.root / path
        if place.parent.is_dir() and not place.is_dir() and not self.root.is_symlink():
            if os.path.realpath(place.parent) != str(place.parent):
                return
            with suppress(OSError):
                place.unlink(missing_ok=True)
            place.write_text(uuid.uuid4().hex)
            self.alone = False
            self.others[path] = state(place)

    @rule()
    def next_turn(self) -> None:
        if self.do(self.ended()):
            before = self.before if self.alone else {}
            self.done.append((self.turn_id, before, tree(self.root)))
            self.undone.clear()
        self.begin()

    async def ended(self) -> bool:
        events = await self.undo.end(self.turn_id)
        for event in events:
            self.chat.record(event)
        return any(isinstance(event, FilesChanged) for event in events)

    @precondition(lambda self: bool(self.done))
    @rule()
    def back(self) -> None:
        self.next_turn_unless_empty()
        turn = self.done.pop()
        self.undone.append(turn)
        clean = turn[1] and tree(self.root) == turn[2]
        restored = self.do(self.undo.restore(turn[0], undo=True))
        if clean:
            assert restored.left == ()
            assert tree(self.root) == turn[1]
        self.before = tree(self.root)

    @precondition(lambda self: bool(self.undone))
    @rule()
    def forth(self) -> None:
        if self.next_turn_unless_empty():
            return
        turn = self.undone.pop()
        self.done.append(turn)
        clean = turn[1] and tree(self.root) == turn[1]
        restored = self.do(self.undo.restore(turn[0], undo=False))
        if clean:
            assert restored.left == ()
            assert tree(self.root) == turn[2]
        self.before = tree(self.root)

    def next_turn_unless_empty(self) -> bool:
        """End the turn, so that it can be undone; whether it had changed anything."""
        count = len(self.done)
        self.next_turn()
        return len(self.done) > count

    @invariant()
    def another_hands_work_is_never_touched(self) -> None:
        for path, was in self.others.items():
            assert state(self.root / path) == was

    def teardown(self) -> None:
        self.do(self.folders.close())
        self.do(self.db.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.home)


TestAnything = Folder.TestCase
TestAnything.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAnything.pytestmark = [  # type: ignore[attr-defined]
    pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")
]
