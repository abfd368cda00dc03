"""A session's life as a story: what is said, what comes back, what goes wrong, and what must hold.

A story is a list of steps. ``live`` takes them, over restarts, crashes and providers, and
checks after each that nothing was broken (H-1 to H-9, L-2, L-12).
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal

import documents
import pytest
from house import KEY, PROTOCOLS

from studio.agent.asking import REJECTED
from studio.agent.context.summary import SYSTEM
from studio.agent.patience import Patience
from studio.agent.session import Session
from studio.agent.standing import MODES, dated
from studio.agent.studio import Studio
from studio.app import build
from studio.domain.agents import Limits
from studio.domain.blocks import SummaryBlock, ToolBlock, UserBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    Failed,
    HistoryBegun,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import File, Image, Said
from studio.domain.messages import Text as Words
from studio.domain.transcript import Transcript
from studio.providers.simulator import (
    Call,
    Fault,
    Pace,
    RequestView,
    Simulator,
    Text,
    Think,
    Turn,
    Usage,
    every,
    scattered,
    transport,
)
from studio.storage.paths import Paths
from studio.storage.settings import SettingsFile

MODELS = {
    "anthropic": ["sim-model", "sim-preserved-1", "claude-haiku-4-5"],
    "openai": ["sim-reasoning", "sim-model", "gpt-5.6"],
    "gemini": ["sim-gemini-3", "gemini-2.5-flash", "sim-gemini-3-mixed", "sim-model"],
    "openai-compatible": ["sim-model"],
    "ollama": ["sim-model", "sim-plain"],
}
CHUNKING: dict[str, Any] = {
    "event": "event",
    "whole": "whole",
    "adversarial": "adversarial",
    "sevens": every(7),
    "scattered": scattered(40),
}
UNKEPT = [
    # A session that goes back to a branch or another provider begins anew; ``grows`` knows when.
    *(f"{surface}.appended" for surface in PROTOCOLS.values()),
    # Words that got no answer stay in a history that only grows, and more words follow them.
    "anthropic.one_message_a_turn",
    "responses.one_message_a_turn",
    "chat.one_message_a_turn",
    "gemini.one_content_a_turn",
    "ollama.one_message_a_turn",
]
"""House rules that our histories do not keep, on purpose."""
PATIENCE = Patience(attempts=3, base=0.002, longest=0.05, silence=0.1, limit=0.4)
NAME = re.compile(r"[\w-]{1,64}", re.ASCII).fullmatch
QUICK = Pace(ttft=0.0, tokens_per_s=1e6)
LONG = "A long line of words that says nothing at all. " * 300
FILES = {
    "a.txt": "alpha\n",
    "long.txt": "".join(f"line {n} of a long file\n" for n in range(200)),
    "b ä😀.txt": "früh, \u2028 und 😀\n",
}


@dataclass(frozen=True)
class Reply:
    """What the model does with one request."""

    parts: tuple[Any, ...] = (Text("Done."),)
    stop: Any = None
    faults: tuple[Fault, ...] = ()
    usage: Usage | None = None

    def turn(self, surface: str) -> Turn:
        """Clouds hold their models to well-formed names and ids; local ones write what they like."""
        parts = self.parts
        if surface != "ollama":
            parts = tuple(
                replace(part, name="fly", id="")
                if isinstance(part, Call) and not NAME(part.name)
                else part
                for part in parts
            )
        odd = any(
            (isinstance(part, Call) and part.raw is not None)
            or (isinstance(part, Text) and not part.text.strip())
            for part in parts
        )
        if odd or any(fault.kind == "tool_json" for fault in self.faults):
            # Thoughts are bound to what comes before them, and this cannot be sent back.
            parts = tuple(sorted(parts, key=lambda part: not isinstance(part, Think)))
        return Turn(*parts, stop=self.stop, faults=self.faults, usage=self.usage, pace=QUICK)


@dataclass(frozen=True)
class Act:
    """What the person, or fate, does during a turn.

    At the ``nth`` event of the kind ``on`` (of any kind, where that is empty; 0
    is before any), and then ``later``: so many passes of the loop up to 10, beyond
    that milliseconds. "stalled" is when the answer on its way has come to a stall.
    """

    what: Literal["stop", "leave", "crash", "quit", "try_now"]
    nth: int = 0
    on: str = ""
    later: int = 0


Kind = Literal["words", "blank", "space", "long", "odd", "picture", "pdf", "note", "empty_note"]


@dataclass(frozen=True)
class Say:
    """One turn. Nothing said is a retry; ``answer`` is given to every question."""

    said: tuple[Kind, ...] = ("words",)
    replies: tuple[Reply, ...] = ()
    acts: tuple[Act, ...] = ()
    answer: Literal["once", "session", "deny", "stop"] = "once"
    steps: int = 4
    seconds: float = 3.0


@dataclass(frozen=True)
class Edit:
    """Edit and resend: a branch before one of the person's messages, and a turn there."""

    nth: int
    say: Say = Say()


@dataclass(frozen=True)
class Branch:
    """A branch of everything."""


@dataclass(frozen=True)
class Compact:
    """A new epoch with old results shortened."""


@dataclass(frozen=True)
class Summarise:
    """The beginning summed up, if there is enough of it."""


@dataclass(frozen=True)
class Reword:
    """The person's own words in place of a summary, if there is one."""

    nth: int = -1


@dataclass(frozen=True)
class Undo:
    """A summary undone, if there is one."""

    nth: int = -1


@dataclass(frozen=True)
class Pin:
    """A message or an answer that is kept whole from now on, or no longer."""

    nth: int


@dataclass(frozen=True)
class Switch:
    """Another provider, or another model of it."""

    provider: str
    model: int = 0


@dataclass(frozen=True)
class Change:
    """One of the session's settings."""

    name: Literal["permission_mode", "agent", "effort"]
    value: str | None


@dataclass(frozen=True)
class Day:
    """Tomorrow."""


@dataclass(frozen=True)
class Decide:
    """What becomes of the drafts that wait, or else of the last."""

    decision: Literal["approve", "discard", "undo"]


@dataclass(frozen=True)
class Restart:
    """The program ends and is started again."""


@dataclass(frozen=True)
class Damage:
    """The program ends; before it is started again, a stored row is not what it was."""

    table: Literal["native", "transcript", "epochs"]
    how: Literal["changed", "unreadable", "gone"]
    row: int


Step = (
    Say
    | Edit
    | Branch
    | Compact
    | Summarise
    | Reword
    | Undo
    | Pin
    | Switch
    | Change
    | Day
    | Decide
    | Restart
    | Damage
)


@cache
def warmed() -> None:
    """The SDKs take longer to import than a provider is waited for here."""
    for name in ("anthropic", "openai", "google.genai"):
        importlib.import_module(name)


@cache
def pictured() -> bytes:
    return documents.picture()


@cache
def printed() -> bytes:
    return documents.pdf("A page", "Another")


def said_block(kind: Kind, mark: str) -> Said:
    match kind:
        case "words":
            return Words(f"{mark} Go on")
        case "blank":
            return Words("")
        case "space":
            return Words(" \n\t ")
        case "long":
            return Words(f"{mark} {LONG}")
        case "odd":
            return Words(f"  {mark} \ud83d half, \x00, <tool_call>, \u202e {{}} \n\n")
        case "picture":
            return Image("image/png", pictured())
        case "pdf":
            return File("two pages.pdf", "application/pdf", printed())
        case "note":
            return File("note.txt", "text/plain", "früh am Tag".encode())
        case "empty_note":
            return File("empty.txt", "text/plain", b"")


class Ended(Exception):
    """The program is to be started again; ``snapshot`` is the database as a crash left it."""

    def __init__(self, snapshot: Path | None = None, damage: Damage | None = None) -> None:
        super().__init__()
        self.snapshot = snapshot
        self.damage = damage


@dataclass
class World:
    """One session, and those branched from it, in one home."""

    home: Path
    provider: str
    model: int = 0
    strict: Any = True
    chunking: str = "event"
    socket: bool = False
    window: int = 0
    """Tokens that every model has, as the settings say; 0 where they say nothing."""
    session_id: str = ""
    replies: list[Reply] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    """What the last request of the present epoch said."""
    kept: list[Any] = field(default_factory=list)
    """The same, as it was when a crash was prepared."""
    marks: itertools.count[int] = field(default_factory=itertools.count)
    day: date = date(2026, 11, 22)
    damaged: set[tuple[str, int]] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    """What was found wrong where nothing can be raised."""
    story: list[str] = field(default_factory=list)

    # The house

    async def live(self, steps: Sequence[Step]) -> None:
        """Take the steps; what is left when the program ends is taken after a restart."""
        await asyncio.to_thread(warmed)
        left = [*steps, Say(("words",), (Reply((Text("The end."),)),))]
        (self.home / "work").mkdir()
        for name, text in FILES.items():
            (self.home / "work" / name).write_text(text, encoding="utf-8")
        self.simulator = Simulator(
            self.script,
            strict=self.strict,
            chunking=CHUNKING[self.chunking],
            sleep=_nap,
            without=UNKEPT,
        )
        if self.socket:
            await self.simulator.start()
        try:
            while left:
                try:
                    async with self.house():
                        while left:
                            await self.step(left.pop(0))
                            await self.check()
                except Ended as ended:
                    self.ended(ended)
        finally:
            await self.simulator.stop()

    @asynccontextmanager
    async def house(self) -> AsyncIterator[None]:
        """The program, from its start to its end."""
        import httpx2

        paths = Paths.below(self.home / "studio")
        settings = SettingsFile(paths.settings)
        await settings.load()
        for name, surface in PROTOCOLS.items():
            settings.values.base_urls[name] = self.simulator.url(surface)  # type: ignore[arg-type]
            if self.window:
                settings.values.models |= {
                    f"{name}/{model}": {"context_window": self.window} for model in MODELS[name]
                }
        self.studio: Studio = await build(paths, settings)
        # A client of our own, for a TLS context takes longer than a whole story.
        self.studio.http._client = (
            httpx2.AsyncClient(verify=False, trust_env=False, timeout=20)
            if self.socket
            else httpx2.AsyncClient(transport=transport(self.simulator), timeout=20)
        )
        self.studio.patience = PATIENCE
        self.studio.today = lambda: self.day
        for name in PROTOCOLS:  # Ollama's too: to look for one leaves a thread behind each time
            self.studio.keychain.keep_for_session(name, KEY)
        try:
            await self.opened()
            yield
        finally:
            await self.studio.close()

    async def opened(self) -> None:
        sessions = self.studio.sessions
        if not self.session_id:
            self.adopt(
                await sessions.create(
                    folder=str(self.home / "work"),
                    agent="Coder",
                    provider=self.provider,
                    model=self.named(self.provider, self.model),
                )
            )
            return
        session = await sessions.open(self.session_id)
        assert not session.transcript.running, "a session that runs before anybody said a word"
        if session.damage:
            with pytest.raises(ConfigurationError, match="can only be read"):
                await anext(session.turn([Words("Go on")]))
            with pytest.raises(ConfigurationError, match="can only be read"):
                await session.compact()
            self.story.append(f"read-only: {session.damage}")
            session = await sessions.branch(session.info.id)
            assert not session.damage
            self.rows = []
        self.adopt(session)
        await self.check()

    def adopt(self, session: Session) -> None:
        self.session, self.session_id = session, session.info.id
        session.subscribe(self.heard)

    def ended(self, ended: Ended) -> None:
        database = self.home / "studio" / "studio.db"
        if ended.snapshot is not None:
            for companion in ("-wal", "-shm"):
                database.with_name(database.name + companion).unlink(missing_ok=True)
            shutil.move(ended.snapshot, database)
            self.rows = self.kept
        if ended.damage is not None:
            with closing(sqlite3.connect(database)) as db, db:
                self.damage(db, ended.damage)

    def damage(self, db: sqlite3.Connection, damage: Damage) -> None:
        table, last = damage.table, ""
        (epoch,) = db.execute(
            "SELECT max(epoch) FROM epochs WHERE session_id = ?", (self.session_id,)
        ).fetchone()
        if table != "transcript":
            last = f" AND epoch = {epoch or 0}"
        rows = db.execute(
            f"SELECT rowid FROM {table} WHERE session_id = ?{last} ORDER BY rowid",
            (self.session_id,),
        ).fetchall()
        if not rows:
            return
        (rowid,) = rows[damage.row % len(rows)]
        column = "system" if table == "epochs" else "body"
        if damage.how == "gone" and table != "epochs":
            db.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))
        else:
            value = f"replace({column}, 'e', 'a')" if damage.how == "changed" else "'{\"x'"
            db.execute(f"UPDATE {table} SET {column} = {value} WHERE rowid = ?", (rowid,))
        if table != "transcript" and epoch:
            self.damaged.add((self.session_id, epoch))

    # What the model does, and what it is sent

    def script(self, view: RequestView) -> Turn:
        reply = self.replies.pop(0) if self.replies else Reply()
        if SYSTEM[:60] not in view.system:  # a summary is asked for beside the conversation
            self.grows(view)
        return reply.turn(view.surface)

    def grows(self, view: RequestView) -> None:
        """H-9: within an epoch a request is the one before it, and more; nothing said is lost."""
        last = len(self.rows) - 1
        for number, (was, now) in enumerate(zip(self.rows, view.rows, strict=False)):
            if was != now and not (number == last and _goes_on(was, now)):
                self.wrong.append(f"an earlier part of the request changed:\n{was}\nto\n{now}")
        if last >= len(view.rows):
            self.wrong.append(f"the request is shorter: {last + 1} rows, then {len(view.rows)}")
        self.rows = view.rows
        words = json.dumps(view.rows, ensure_ascii=False)
        mode = self.session.info.permission_mode
        for known in (dated(self.day), *([MODES[mode]] if mode != "ask" else [])):
            if known not in words:  # H-6
                self.wrong.append(f"the model does not know: {known}")
        summary, known = self.session.transcript.summary, self.known()
        for index, block in enumerate(self.session.transcript.blocks):
            if isinstance(block, UserBlock):
                whole = summary is None or index >= summary.blocks or block.pinned
                for mark in _marks(block):
                    times, wanted = words.count(mark), known.count(mark)
                    if times != wanted or (whole and wanted < 1):
                        self.wrong.append(f"{mark} is {times} times in a request, not {wanted}")
                    if summary is None and times != 1:
                        self.wrong.append(f"{mark} is {times} times in a request")

    def known(self) -> str:
        """Every word of the person that the model should get, and of the summary."""
        messages = self.session.transcript.messages()
        return "".join(b.text for m in messages for b in m.blocks if isinstance(b, Words))

    def heard(self, event: Event, _: int | None) -> None:
        match event:
            case HistoryBegun():
                self.rows = []
                if event.why == REJECTED:
                    self.wrong.append("the provider did not accept the history")
                if "was damaged" in event.why and not self.damaged:
                    self.wrong.append(event.why)
            case Failed(fault="internal"):
                self.wrong.append(f"{event.title}: {event.detail}")
            case _:
                pass

    # The steps

    async def step(self, step: Step) -> None:
        session = self.session
        match step:
            case Say():
                await self.say(step)
            case Edit():
                said = [b for b in session.transcript.blocks if isinstance(b, UserBlock)]
                if said:
                    turn_id = said[step.nth % len(said)].turn_id
                    self.adopt(await self.studio.sessions.branch(session.info.id, turn_id))
                    self.rows = []
                await self.say(step.say)
            case Branch():
                self.adopt(await self.studio.sessions.branch(session.info.id))
                self.rows = []
            case Compact():
                await session.compact()
            case Summarise():
                with suppress(ConfigurationError):  # there may be too little
                    await session.summarise()
            case Reword():
                for block in self.summaries(step.nth):
                    await session.edit_summary(block.summary_id, "As the person has it.")
            case Undo():
                for block in self.summaries(step.nth):
                    await session.undo_summary(block.summary_id)
            case Pin():
                blocks = session.transcript.blocks
                if blocks:
                    index = step.nth % len(blocks)
                    await session.pin(index, not getattr(blocks[index], "pinned", False))
            case Switch():
                model = self.named(step.provider, step.model)
                await session.change(provider=step.provider, model=model)
            case Change():
                await session.change(**{step.name: step.value})
            case Day():
                self.day += timedelta(1)
            case Decide():
                for draft in session.drafts.waiting() or list(session.transcript.drafts)[-1:]:
                    await session.decide(draft.id, step.decision)
            case Restart():
                raise Ended
            case Damage():
                raise Ended(damage=step)

    def summaries(self, nth: int) -> list[SummaryBlock]:
        """One of them, if there are any."""
        found = [b for b in self.session.transcript.blocks if isinstance(b, SummaryBlock)]
        return [found[nth % len(found)]] if found else []

    def named(self, provider: str, model: int) -> str:
        models = MODELS[provider]
        return models[model % len(models)]

    async def say(self, say: Say) -> None:
        session, self.replies = self.session, list(say.replies)
        said = [said_block(kind, f"(m{next(self.marks)})") for kind in say.said]
        recorded: list[Event] = []
        unsubscribe = session.subscribe(lambda event, _: recorded.append(event))
        fate = Fate(self, say.acts)
        events: list[Event] = []
        try:
            async with asyncio.timeout(30):
                stream = session.turn(said, limits=Limits(say.steps, say.seconds))
                async with aclosing(stream):
                    fate.sees(None)
                    async for event in stream:
                        events.append(event)
                        if isinstance(event, AwaitingPermission):
                            if say.answer == "stop":
                                session.stop()
                            else:
                                session.answer(event.question.id, say.answer)
                        elif isinstance(event, AwaitingReply):
                            if say.answer == "stop":
                                session.stop()
                            else:
                                session.reply(event.call_id, "Blue")
                        if fate.sees(event):
                            break
        finally:
            await fate.over()
            unsubscribe()
        assert isinstance(recorded[0], TurnStarted)
        assert [n for n, e in enumerate(recorded) if isinstance(e, TurnComplete)] == [
            len(recorded) - 1
        ], "one end, and it is the last"
        assert events == (recorded[: len(events)] if fate.left else recorded)
        if fate.snapshot or fate.quit:
            raise Ended(fate.snapshot)

    # What must hold after each step

    async def check(self) -> None:
        session, store = self.session, self.studio.store
        assert not self.wrong, self.wrong
        assert not self.simulator.violations, self.simulator.violations
        assert not session.running and not session.transcript.running
        assert all(b.finished for b in session.transcript.blocks if isinstance(b, ToolBlock))
        assert session.info.state not in ("running", "waiting")
        await session.flush()
        stored = Transcript(await store.events(self.session_id))
        assert stored.blocks == session.transcript.blocks
        assert stored.told == session.transcript.told
        assert not await store.damage(self.session_id)
        assert self.session_id not in await store.interrupted()
        await self.chained()

    async def chained(self) -> None:
        """H-1, H-9: what is stored is sound, and each request's prefix lies on its chain."""
        store = self.studio.store
        chains: dict[int, list[str]] = {}
        native = None
        for info in await store.epochs(self.session_id):
            native = await store.native(self.session_id, info.number)
            assert native is not None
            if (self.session_id, info.number) not in self.damaged:
                assert native.damage == ""
                chains[info.number] = native.chain
        for entry in await store.ledger(self.session_id):
            sent = entry.sent
            if sent is not None and sent.epoch in chains:
                assert chains[sent.epoch][sent.items] == sent.prefix
        if native is not None and native.epoch in chains:
            provider = await self.studio.provider(native.provider)
            assert provider.examine(native.items) == ""


class Fate:
    """The acts of one turn."""

    def __init__(self, world: World, acts: Sequence[Act]) -> None:
        self.world = world
        self.pending = list(acts)
        self.asked = len(world.simulator.requests)
        self.seen: dict[str, int] = {"": 0}
        self.tasks: list[asyncio.Task[None]] = []
        self.left = self.quit = False
        self.snapshot: Path | None = None

    def sees(self, event: Event | None) -> bool:
        """Take an event, None at the start; returns whether the reader leaves now."""
        if event is not None:
            for kind in ("", type(event).__name__):
                self.seen[kind] = self.seen.get(kind, 0) + 1
        for act in list(self.pending):
            stalled = act.on == "stalled"
            if stalled or self.seen.get(act.on, 0) >= act.nth + bool(act.on):
                self.pending.remove(act)
                if act.what == "leave":
                    self.left = event is not None
                elif not stalled and not act.later:
                    self.do(act)
                else:
                    self.tasks.append(asyncio.create_task(self.later(act)))
        return self.left

    async def later(self, act: Act) -> None:
        simulator = self.world.simulator
        if act.on == "stalled":
            await simulator.wait_requests(self.asked + 1)
            await simulator.requests[-1].stalled.wait()
        if act.later > 10:
            await asyncio.sleep((act.later - 10) / 1000)
        else:
            for _ in range(act.later):
                await asyncio.sleep(0)
        self.do(act)

    def do(self, act: Act) -> None:
        world = self.world
        match act.what:
            case "stop":
                world.session.stop()
            case "try_now":
                world.session.try_now()
            case "quit" if not self.quit:
                self.quit = True
                self.tasks.append(asyncio.create_task(world.studio.close()))
            case "crash":
                self.snapshot = snapshot(world)
            case "quit" | "leave":
                pass

    async def over(self) -> None:
        """The turn is over: what did not happen yet does not happen any more."""
        closing = [task for task in self.tasks if self.quit]
        for task in self.tasks:
            if task not in closing:
                task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=not closing)


def snapshot(world: World) -> Path:
    """The database as a crash at this moment would leave it."""
    copy = world.studio.paths.database.with_name("crashed.db")
    with (
        closing(sqlite3.connect(world.studio.paths.database)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    world.kept = world.rows
    return copy


async def _nap(seconds: float) -> None:
    """The simulator's waits, made short; a wait of none lets others run."""
    await asyncio.sleep(0 if seconds < 0.001 else min(seconds, 0.2))


def _goes_on(was: Any, now: Any) -> bool:
    """Words that got no answer may be sent as one message with those that followed."""
    *old, last = _parts(was)
    new = _parts(now)[: len(old) + 1]
    return (
        was.get("role") == "user" == now.get("role")
        and old == new[:-1]
        and (last == new[-1] or str(new[-1].get("text")).startswith(last["text"]))
    )


def _parts(row: Any) -> list[Any]:
    content = row["content"] if "content" in row else row["parts"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _marks(block: UserBlock) -> list[str]:
    texts = [part.text for part in block.said if isinstance(part, Words)]
    return [text[text.index("(m") :].split()[0] for text in texts if "(m" in text]
