"""Whatever happens to a session, the next request is accepted and each turn ends once (H-5, L-2)."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from house import KEY, PROTOCOLS, House, house
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.agent.session import Session
from studio.domain.agents import Limits
from studio.domain.blocks import ToolBlock
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text as Words
from studio.providers.simulator import (
    Call,
    RequestView,
    Text,
    Think,
    Turn,
    cut,
    eof,
    error_event,
    garbage,
    stall,
    status,
    tool_json,
)

CALLS = [
    Call("read", {"path": "a.txt"}),
    Call("read", {"path": "a.txt"}, id="call_same"),
    Call("read", {"path": "missing.txt"}),
    Call("read", {"path": 5}),
    Call("fly", {"to": "moon"}),
    Call("list", {}),
    Call("ask", {"question": "Which?"}),
    Call("run", {"command": "printf here"}),
    Call("write", {"path": "n.txt", "content": "new\n"}),
]
FAULTS = [
    lambda: eof(at=3),
    lambda: eof(at=-2),
    lambda: cut(at=4),
    lambda: error_event(at=-2),
    lambda: garbage(at=3),
    lambda: stall(at=3),
    lambda: status(500),
    lambda: tool_json("truncated"),
    lambda: tool_json("invalid"),
]
STOPS = [
    None,
    "end",
    "tool_use",
    "max_tokens",
    "refusal",
    "pause_turn",
    "context_exceeded",
    "empty",
]


@dataclass
class Say:
    """One turn: what the model does, when Stop is pressed, what the person answers."""

    replies: list[Turn]
    stop_at: int | None
    answer: str
    crash_at: int | None


@dataclass
class Switch:
    provider: str


@dataclass
class Decide:
    decision: str


@st.composite
def replies(draw: st.DrawFn) -> Turn:
    parts: list[Think | Text | Call] = []
    if draw(st.booleans()):
        parts.append(Think("hm, let me see"))
    if draw(st.booleans()):
        parts.append(Text("Some words of the answer."))
    parts += draw(st.lists(st.sampled_from(CALLS), max_size=3))
    fault = draw(st.none() | st.sampled_from(FAULTS))
    stop = draw(st.sampled_from([None, None, None, *STOPS]))
    return Turn(*parts, stop=stop, faults=[fault()] if fault else [])  # type: ignore[arg-type]


SAYS = st.builds(
    Say,
    st.lists(replies(), min_size=1, max_size=3),
    st.none() | st.integers(0, 14),
    st.sampled_from(["once", "session", "deny"]),
    st.none() | st.none() | st.integers(0, 14),
)
STEPS = st.lists(
    st.one_of(
        SAYS,
        SAYS,
        st.builds(Switch, st.sampled_from(list(PROTOCOLS))),
        st.builds(Decide, st.sampled_from(["approve", "discard", "undo"])),
    ),
    min_size=1,
    max_size=5,
)


@dataclass
class World:
    """One session in one home, across restarts, crashes and providers."""

    home: Path
    provider: str
    session_id: str = ""
    replies: list[Turn] = field(default_factory=list)

    def script(self, _: RequestView) -> Turn:
        return self.replies.pop(0) if self.replies else Turn(Text("Done."))

    async def live(self, steps: list[object]) -> None:
        """Take the steps until the program dies; what is left begins after a restart."""
        while steps:
            async with house(self.home, self.provider, self.script) as home:
                for name, surface in PROTOCOLS.items():
                    home.studio.settings.values.base_urls[name] = home.simulator.url(surface)  # type: ignore[arg-type]
                    if name != "ollama":
                        home.studio.keychain.keep_for_session(name, KEY)
                (home.folder / "a.txt").write_text("alpha\n")
                session = await self.open(home)
                snapshot = await self.steps(home, session, steps)
                assert not home.simulator.violations, home.simulator.violations
            if snapshot is not None:
                database = self.home / "studio" / "studio.db"
                for companion in ("-wal", "-shm"):
                    database.with_name(database.name + companion).unlink(missing_ok=True)
                shutil.move(snapshot, database)

    async def open(self, home: House) -> Session:
        if self.session_id:
            session = await home.studio.sessions.open(self.session_id)
            assert not session.transcript.running
            return session
        session = await home.session()
        self.session_id = session.info.id
        return session

    async def steps(self, home: House, session: Session, steps: list[object]) -> Path | None:
        while steps:
            match steps.pop(0):
                case Say() as say:
                    if snapshot := await self.say(home, session, say):
                        return snapshot
                case Switch(provider):
                    await session.change(provider=provider)
                case Decide(decision):
                    for draft in session.drafts.waiting() or list(session.transcript.drafts)[-1:]:
                        await session.decide(draft.id, decision)  # type: ignore[arg-type]
        return None

    async def say(self, home: House, session: Session, say: Say) -> Path | None:
        self.replies = list(say.replies)
        recorded: list[Event] = []
        unsubscribe = session.subscribe(lambda event, _: recorded.append(event))
        events: list[Event] = []
        snapshot: Path | None = None
        async with asyncio.timeout(10):
            async for event in session.turn([Words("Go on")], limits=Limits(4, 1.0)):
                if len(events) == say.stop_at:
                    session.stop()
                if len(events) == say.crash_at:
                    snapshot = _snapshot(home)
                events.append(event)
                if isinstance(event, AwaitingPermission):
                    session.answer(event.question.id, say.answer)  # type: ignore[arg-type]
                elif isinstance(event, AwaitingReply):
                    session.reply(event.call_id, "Blue")
        unsubscribe()
        assert [type(e) for e in events].count(TurnComplete) == 1
        assert isinstance(events[0], TurnStarted) and isinstance(events[-1], TurnComplete)
        assert [e for e in recorded if isinstance(e, TurnComplete)] == events[-1:]
        assert not session.running and not session.transcript.running
        assert all(b.finished for b in session.transcript.blocks if isinstance(b, ToolBlock))
        return snapshot


def _snapshot(home: House) -> Path:
    """The database as a crash at this moment would leave it."""
    copy = home.studio.paths.database.with_name("crashed.db")
    with (
        closing(sqlite3.connect(home.studio.paths.database)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    return copy


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(list(PROTOCOLS)), STEPS)
def test_every_history_is_accepted_and_every_turn_ends_once(
    provider: str, steps: list[object]
) -> None:
    plain = Say([Turn(Text("The end."))], None, "once", None)
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), provider)
        asyncio.run(world.live([*steps, plain]))
