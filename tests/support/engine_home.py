"""The whole house below the doors, over real HTTP, in a folder of its own."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.permission.approval import AHEAD
from studio.agent.prompts import NOBODY_ANSWERS
from studio.agent.retry_policy import RetryPolicy
from studio.agent.session.session import Session
from studio.cli import build_parser, run_command
from studio.cli.command_context import CommandContext
from studio.domain.events import Event
from studio.domain.messages import Text
from studio.domain.permissions import Rule
from studio.mcp.supervised import ServerTimes
from studio.simulator import Exchange, Script, Simulator
from studio.storage.config.settings import Settings, SettingsFile
from studio.storage.paths import Paths
from support.ready_made import ready_engine
from support.waiting import FOREVER

PROTOCOLS = {
    "anthropic": "anthropic",
    "openai": "responses",
    "gemini": "gemini",
    "openai-compatible": "chat",
    "ollama": "ollama",
}
"""Each provider and the API of the simulator that it talks to."""

KEY = "sk-test-0123456789abcdef"


def give_time(values: Settings) -> None:
    """Let turns take as long as they need on a busy computer, where nobody set a limit.

    No model is asked for titles: scripts have no reply for that.
    """
    values.write_titles = False
    usual = Settings()
    for name in ("inline_seconds", "background_seconds", "long_seconds"):
        if getattr(values, name) == getattr(usual, name):
            setattr(values, name, FOREVER)


@dataclass
class EngineHome:
    """A studio whose provider is the simulator."""

    engine: Engine
    simulator: Simulator
    provider: str
    folder: Path

    @property
    def asked(self) -> list[Exchange]:
        return reply_requests(self.simulator)

    async def command(self, *words: str) -> int:
        """Run a command of the command line with this engine; returns the exit code."""

        async def this_engine(paths: Paths, settings: SettingsFile) -> Engine:
            return self.engine

        context = CommandContext(self.engine.paths, this_engine)
        return await run_command(build_parser().parse_args(words), context)

    async def session(self, agent: str = "Coder", model: str = "sim-model") -> Session:
        return await self.engine.sessions.create(
            folder=str(self.folder), agent=agent, provider=self.provider, model=model
        )


def reply_requests(simulator: Simulator) -> list[Exchange]:
    """The requests for a reply, not those for facts about models."""
    return [
        one for one in simulator.requests if one.method == "POST" and not one.path.endswith("/show")
    ]


@contextlib.asynccontextmanager
async def engine_home(
    home: Path,
    provider: str,
    script: Script,
    *,
    key: str = KEY,
    patience: RetryPolicy | None = None,
    **simulated: object,
) -> AsyncIterator[EngineHome]:
    """Opens what is in ``home`` (a second time: a restart) and closes it again.

    Without ``patience`` a failed request is not made again.
    """
    folder = home / "work"
    folder.mkdir(exist_ok=True)
    simulated = {"pace": False, **simulated}
    async with Simulator(script, **simulated) as simulator:  # type: ignore[arg-type]
        paths = Paths.below(home / "studio")
        settings = SettingsFile(paths.settings)
        give_time(await settings.load())
        settings.values.base_urls[provider] = simulator.url(PROTOCOLS[provider])  # type: ignore[arg-type]
        engine = await ready_engine(paths, settings)
        engine.services.retry_policy = patience or RetryPolicy(attempts=1)
        engine.services.orientation_seconds = FOREVER
        engine.services.servers.servers.times = ServerTimes(start=FOREVER)
        if provider != "ollama":
            engine.keychain.keep_for_session(provider, key)
        try:
            yield EngineHome(engine, simulator, provider, folder)
        finally:
            await engine.close()


async def say(
    session: Session, text: str = "Go", rules: tuple[Rule, ...] = (), answer: str = ""
) -> list[Event]:
    """One turn, every permission question answered the same way; nobody raises a limit."""
    from studio.domain.events import AwaitingPermission, AwaitingReply

    events: list[Event] = []
    async for envelope in session.turn([Text(text)] if text else [], rules=rules):
        event = envelope.event
        events.append(event)
        if isinstance(event, AwaitingPermission) and answer:
            session.answer_permission(event.question.id, answer)  # type: ignore[arg-type]
        if isinstance(event, AwaitingReply) and event.call_id.startswith(AHEAD):
            session.answer_question(event.call_id, NOBODY_ANSWERS)
    return events


def is_locked(file: Path) -> bool:
    """Whether a process that locked the file still runs.

    A number of its own would say nothing: in a sandbox it is another.
    """
    with file.open() as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
