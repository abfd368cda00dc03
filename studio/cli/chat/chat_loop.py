"""The loop of a chat: turns what is typed into turns of a session, one at a time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

from studio.agent.attachments import check_total_size
from studio.agent.delegation.children import Child
from studio.agent.delegation.report import ended_as
from studio.agent.engine import Engine
from studio.agent.handoffs import handoff_offer, offered_handoffs
from studio.agent.servers.prompt_arguments import written
from studio.agent.session.session import Session
from studio.agent.usage_costs import format_dollars, total
from studio.cli.questions import fill_in
from studio.cli.turn_driver import Printer, TurnDriver, asked_by
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError, ProviderError, StudioError
from studio.domain.events import MessageQueued
from studio.domain.messages import File, Image, Said, Text

from .mentions import attach_mentions
from .screen import ChatScreen

_OF_SERVERS = re.compile(r"\A/[^\s/]+:|(?<!\S)@\w[\w-]*:")
"""What a message may have of MCP servers: a prompt, a resource."""


class ChatLoop:
    """Runs one person's chat at one terminal, in one session at a time.

    ``command`` gets each text first and returns whether the text was a command.
    ``printer`` makes the printer of a turn.
    """

    def __init__(
        self,
        engine: Engine,
        session: Session,
        screen: ChatScreen,
        printer: Callable[[], Printer],
    ) -> None:
        self.engine = engine
        self.session = session
        self.screen = screen
        self.command: Callable[[str], bool] = lambda _: False
        self.before_command: Callable[[], Awaitable[None]] = _nothing
        """Awaited before a text that begins with a slash is given to ``command``."""
        self.attached: list[Said] = []
        """Files for the next message."""
        self._printer = printer
        self._driver: TurnDriver | None = None
        self._work: asyncio.Task[None] | None = None
        self._side_tasks = BackgroundTasks()
        self._left = False
        self._spent = ""
        self._queued: dict[str, tuple[str, list[Said]]] = {}
        """The typed text and the files of each message queued here and not sent yet, by its id."""
        screen.interrupt, screen.release = self.interrupt, self.release
        screen.status = self._status

    @property
    def working(self) -> bool:
        return self._work is not None

    async def run(self) -> None:
        """Read and run messages until the person leaves, then stop what runs."""
        await self.switch_to(self.session)
        unsubscribe = self.engine.services.jobs.subscribe(lambda _: self.screen.refresh())
        self.engine.delegation.listeners.append(self._heard_of_child)
        try:
            while (text := await self.screen.read()) is not None:
                await self.submit(text)
                while self._work is not None and not self.screen.types_ahead:
                    await asyncio.wait([self._work])
        finally:
            self.engine.delegation.listeners.remove(self._heard_of_child)
            self._left = True  # what is queued stays so, for the next time
            self.stop()
            if self._work is not None:
                await asyncio.wait([self._work])
            await self._side_tasks.settled()
            unsubscribe()
        for job in self.engine.services.jobs.running():
            self.screen.say(f"Ends with the chat: {job.line}")
        if self.session.transcript.blocks:
            self.screen.say(f"To go on: agent-studio chat --session {self.session.info.id[:8]}")

    async def switch_to(self, session: Session) -> None:
        """Continue in another session, and print which one.

        What is queued here or there is returned to the prompt: nothing goes out unasked.
        """
        self._give_back()
        self.session, info = session, session.info
        self.screen.say(f"{info.agent} on {info.model}, in {info.folder}")
        for problem in [session.damage] if session.damage else []:
            self.screen.say(f"This chat can only be read: {problem}")
        self._give_back()
        await self._update_costs()

    async def submit(self, text: str) -> None:
        """Run, queue or refuse a text that the person sent."""
        await self.engine.refresh_settings()
        # A terminal that is not UTF-8 sends broken characters, which cannot be stored.
        text = text.encode("utf-8", "replace").decode().strip()
        if text.startswith("/"):
            await self.before_command()
        if not text or self.command(text):
            return
        if self._work is None and _OF_SERVERS.search(text):
            self.start(self._ask_and_send(text))  # a server may take its time
        elif (said := await self._said(text)) is not None:
            self.start(self.run_turn(said))

    async def _ask_and_send(self, text: str) -> None:
        """Send a message that calls a prompt of a server or names a resource of one (M-21)."""
        try:
            whole = await self._with_arguments(text)
        except ConfigurationError:
            self.screen.give_back(text)
            raise
        if (said := await self._said(whole, self._work)) is not None:
            await self.run_turn(said)

    async def _said(
        self, text: str, by: asyncio.Task[None] | None = None
    ) -> tuple[Said, ...] | None:
        """A message with its files, to be run now; None if it was queued or given back.

        It is queued while other work than ``by`` is under way.
        """
        try:
            message = await attach_mentions(text, Path(self.session.info.folder), self._resource)
            said = (*self.attached, *message.files.values(), Text(message.text))
            check_total_size(said)
            queued = self.session.queue.add(said) if self._work is not by else ""
        except ConfigurationError as error:
            self.screen.say(str(error))
            self.screen.give_back(text)
            return None
        if message.files:
            self.screen.say(f"Attached: {message.attached}")
        attached, self.attached = self.attached, []
        if queued:
            self._queued[queued] = text, attached
            self.screen.say(*f"Queued: {text}".split("\n"))
        return None if queued else said

    async def _resource(self, word: str, *, wanted: bool) -> tuple[str, Sequence[Image | File]]:
        """The resource of a server that a word of a message names (M-21)."""
        services, folder = self.engine.services, Path(self.session.info.folder)
        entries = await services.server_entries(folder)
        name = services.offers.resource_in(entries, word)
        found = await services.offers.attach(entries, name, folder) if name and wanted else ()
        return name, found

    async def _with_arguments(self, text: str) -> str:
        """A message that calls a prompt of a server, with what it needs asked for (M-21)."""
        if not text.startswith("/"):
            return text
        services, folder = self.engine.services, Path(self.session.info.folder)
        schema = services.offers.missing_form(await services.server_entries(folder), text)
        if schema is None:
            return text
        answer = await fill_in(self.screen, schema)
        if answer is None or answer.content is None:
            raise ConfigurationError("Nothing was sent.")
        given = {name: str(value) for name, value in answer.content.items()}
        return f"{text} {written(given)}"

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work that excludes other work."""
        self._work = asyncio.create_task(self._exclusive(work))

    def run_aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work that may run beside a turn."""
        self._side_tasks.start(self._guarded(work))

    def stop(self) -> bool:
        """Stop what runs; returns whether anything did."""
        if self._work is None:
            return False
        if self._driver is not None:
            self._driver.stop()
        else:
            self.session.stop()
        return True

    def interrupt(self) -> bool:
        """Stop the tools that work, or else what runs; returns whether anything did.

        A question on the screen is answered by that: the turn is stopped. What is queued returns
        to the prompt then.
        """
        tools_only = self._driver is not None and not self._driver.asks
        if self._work is not None and tools_only and self.session.interrupt():
            self.screen.say("The tool is stopped. Ctrl-C again stops the agent.")
            return True
        stopped = self.stop()
        if stopped:
            self._give_back()
        return stopped

    def release(self) -> bool:
        """Let the commands that the agent waits for go on as jobs; returns whether any ran."""
        jobs, chat = self.session.jobs, self.session.info.id
        if not jobs.awaited(chat):
            return False
        if not jobs.release(chat):
            self.screen.say("Too many commands run in the background: /jobs lists them.")
        return True

    async def run_turn(self, said: Sequence[Said] | MessageQueued) -> None:
        """Run a turn; no message means try again."""
        parts = said.said if isinstance(said, MessageQueued) else said
        if self.screen.types_ahead and (words := _words(parts)):
            self.screen.say("", *f"› {words}".split("\n"), "")
        driver = self.driver()
        await driver.run_turn(said, [], None, mentions=True)
        if not driver.stopped and driver.capped and await driver.ask_background():
            await driver.run_turn((), [], "background", mentions=True)
        if not driver.stopped:
            await driver.offer_drafts()
        await self._update_costs()
        if (
            not driver.stopped
            and self.session.queue.next is None
            and (offer := handoff_offer(await offered_handoffs(self.engine, self.session)))
        ):
            self.screen.say(offer)

    def _heard_of_child(self, caller: Session, child: Child) -> None:
        """Tell of an agent in the background that ended, or asks, after the turn that began it."""
        if caller.info.id != self.session.info.id:
            return
        if child.end is not None:
            self.screen.say(f"{child.agent.name}, in the background, {ended_as(child.end)}.")
        elif self.screen.types_ahead:  # else what is typed is a message
            self._ask_for_children()

    def _ask_for_children(self) -> None:
        """Ask what agents in the background ask, as soon as nothing else is on the screen."""
        if self._work is None and any(self._asking_children()):
            self.start(self._answer_children())

    def _asking_children(self) -> Iterator[Child]:
        for child in self.engine.delegation.of(self.session.info.id):
            if child.works and child.background and asked_by(child.session):
                yield child

    async def _answer_children(self) -> None:
        for child in list(self._asking_children()):
            self._driver = TurnDriver(child.session, self.screen, self._printer(), None)
            self.screen.say("", f"{child.agent.name}, in the background, asks:")
            await self._driver.ask_waiting()

    def _give_back(self) -> None:
        """Return queued messages to the prompt, as they were typed."""
        typed: list[str] = []
        for message_id in [] if self.session.damage else list(self.session.transcript.queued):
            said = self.session.queue.remove(message_id)
            text, attached = self._queued.pop(
                message_id, (_words(said), [part for part in said if not isinstance(part, Text)])
            )
            typed.append(text)
            self.attached += attached
        if typed:
            self.screen.give_back("\n".join(typed))

    def driver(self) -> TurnDriver:
        """The driver of the next turn in this session."""
        self._driver = TurnDriver(self.session, self.screen, self._printer(), None)
        return self._driver

    async def _exclusive(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await self._guarded(work)
        finally:
            self._work = self._driver = None
            self.screen.refresh()
        if self._left:
            return
        if (queued := self.session.queue.next) is not None:
            self.start(self._run_queued(queued))
        else:
            self._ask_for_children()

    async def _run_queued(self, queued: MessageQueued) -> None:
        """Run the turn of a queued message; one that cannot begin is returned to the prompt."""
        self._queued.pop(queued.message_id, None)
        try:
            await self.run_turn(queued)
        finally:
            if not self._left and self.session.queue.get(queued.message_id) is not None:
                self._give_back()

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except BrokenPipeError:  # nobody is at the terminal any more
            self.screen.leave()
        except (StudioError, ProviderError, OSError) as error:
            self.screen.say(str(error))

    async def _update_costs(self) -> None:
        """Update the costs in the status line."""
        spent = await self.engine.usage_costs.spent("session", self.session.info.id)
        self._spent = format_dollars(total(spent.values()).cost)
        self.screen.refresh()

    def _status(self) -> str:
        info = self.session.info
        parts = [info.agent, info.model, info.permission_mode]
        if used := self.session.transcript.last_usage.total:
            window = self.engine.model(info.provider, info.model).context_window
            parts.append(f"context {used / window:.0%}" if window else f"{used:,} tokens")
        parts += [self._spent] if self._spent else []
        parts += [f"{len(self.attached)} attached"] if self.attached else []
        jobs = self.session.jobs
        if running := len(jobs.running(info.id)):
            parts.append(f"{running} in the background: /jobs")
        if self.screen.types_ahead and jobs.awaited(info.id):
            parts.append("Ctrl-B goes on meanwhile")
        parts += ["Ctrl-C stops"] if self._work is not None else ["/help"]
        return " · ".join(parts)


async def _nothing() -> None:
    """Nothing comes before a command."""


def _words(said: Sequence[Said]) -> str:
    return "\n\n".join(part.text for part in said if isinstance(part, Text))
