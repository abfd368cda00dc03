"""Slash commands of a chat: runs lines that begin with a slash."""

from __future__ import annotations

import asyncio
import re
import shutil
import textwrap
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from studio.agent.attachments import attach, check_total_size
from studio.agent.handoffs import take_handoff
from studio.agent.session.event_channel import EventEnvelope
from studio.agent.session.invocation import mistyped
from studio.cli.commands.usage import print_usage
from studio.cli.event_printer import TextPrinter
from studio.cli.saved_sessions import (
    find_session_id,
    session_markdown,
    show_context,
    undo_or_redo,
)
from studio.domain.agents import PermissionMode
from studio.domain.blocks import TextBlock, UserBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import Notice, Summarised
from studio.domain.messages import Text
from studio.providers.registry import PROVIDER_TITLES

from .chat_loop import ChatLoop
from .completion import Kind, Offer
from .mentions import typed_path

LISTED = 15
LINES = 40
"""Lines that are shown of what a command in the background printed."""
COLUMN = 32
"""The column where descriptions begin in the list of commands."""
_OLD = {"/mode": "/permission"}
"""Names of earlier versions."""
_COMMAND = re.compile(r"/([a-zA-Z][\w.:-]*)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True)
class _Command:
    """A slash command. ``takes`` is what completion offers; ``beside`` allows it during a turn."""

    run: Callable[[str], Coroutine[Any, Any, None]]
    about: str
    takes: Kind = ""
    shape: str = ""
    beside: bool = False


class SlashCommands:
    """The commands of one chat."""

    def __init__(self, chat: ChatLoop) -> None:
        """Sets ``chat.command``, so that the chat runs these commands."""
        self._chat = chat
        chat.command, chat.before_command = self.handle, self.load_called
        self.called: dict[str, tuple[Kind, str]] = {}
        """Skills, commands and servers' prompts, with what each is for."""
        self._offers: dict[Kind, Sequence[Offer]] = {
            "permission": [(mode, "") for mode in get_args(PermissionMode)],
            "word": [("show", "what it says"), ("edit", "say it yourself"), ("undo", "drop it")],
        }
        self.all = {
            "/help": _Command(self._help, "these commands", beside=True),
            "/model": _Command(self._model, "list models, or use one", "model", "[MODEL]"),
            "/agent": _Command(self._agent, "list agents, or use one", "agent", "[AGENT]"),
            "/handoff": _Command(
                self._handoff, "let the next agent go on, as this one's file says", "", "[NUMBER]"
            ),
            "/permission": _Command(
                self._permission, "ask, act alone, or only plan", "permission", "[ask|auto|plan]"
            ),
            "/attach": _Command(
                self._attach, "send a file with your next message", "file", "FILE", beside=True
            ),
            "/folder": _Command(self._folder, "work in another folder", "folder", "[DIR]"),
            "/steer": _Command(
                self._steer, "tell the agent at work, with its next step", "", "TEXT", beside=True
            ),
            "/new": _Command(self._new, "begin a new chat"),
            "/sessions": _Command(self._sessions, "list the last chats"),
            "/resume": _Command(self._resume, "go on in an earlier chat", "session", "ID"),
            "/retry": _Command(self._retry, "try your last message again"),
            "/undo": _Command(
                partial(self._restore, undo=True), "put back the files a turn changed", "", "[TURN]"
            ),
            "/redo": _Command(
                partial(self._restore, undo=False),
                "apply the changes of a turn again",
                "",
                "[TURN]",
            ),
            "/jobs": _Command(
                self._jobs,
                "commands in the background: list them, see what one printed, stop it",
                "job",
                "[ID|stop ID]",
                beside=True,
            ),
            "/drafts": _Command(self._drafts, "decide about drafts that wait"),
            "/context": _Command(
                self._context, "how much of the context each part takes", beside=True
            ),
            "/compact": _Command(self._compact, "sum up earlier messages for the model"),
            "/summary": _Command(
                self._summary, "show, edit or undo that summary", "word", "[show|edit TEXT|undo]"
            ),
            "/pin": _Command(
                self._pin,
                "keep your last message, or the answer, whole; or no longer",
                "",
                "[answer]",
            ),
            "/usage": _Command(self._usage, "what this chat used and cost", beside=True),
            "/export": _Command(self._export, "write this chat as markdown", "file", "[FILE]"),
            "/quit": _Command(self._quit, "leave; so does Ctrl-D", beside=True),
        }

    def handle(self, text: str) -> bool:
        """Run a text if it is a command; returns whether it was meant as one."""
        found = _COMMAND.fullmatch(text)
        if found is None:
            return False
        name, rest = f"/{found[1]}", (found[2] or "").strip()
        if name not in self.all and name not in _OLD and name in self.called:
            return False  # it is a message, which the agent gets filled in
        if self._chat.screen.types_ahead:  # otherwise the terminal shows it already
            self._say("", *f"› {text}".split("\n"))
        if name in _OLD:
            self._say(f"{name} is now {_OLD[name]}.")
            name = _OLD[name]
        command = self.all.get(name)
        if command is None:
            wrong = mistyped(text, [one.removeprefix("/") for one in (*self.all, *self.called)])
            if not wrong:
                return False
            self._say(f"{wrong} /help lists all.")
        elif command.beside:
            self._chat.run_aside(command.run(rest))
        elif self._chat.working:
            self._say(f"{name} has to wait until the agent is done. Ctrl-C stops it.")
        else:
            self._chat.start(command.run(rest))
        return True

    def offers(self, kind: Kind) -> Sequence[Offer]:
        """The values of a kind for completion; called in a thread."""
        if kind == "model":
            info = self._chat.session.info
            models = self._chat.engine.offered(info.provider, info.model)
            return [(model.id, model.name) for model in models]
        if kind == "job":
            running = self._chat.session.jobs.running(self._chat.session.info.id)
            return [(one.id, one.line) for one in running]
        return self._offers.get(kind, ())

    async def load_offers(self) -> None:
        """Load agents and sessions for completion."""
        chat = self._chat
        agents = await chat.engine.agents(Path(chat.session.info.folder))
        for problem in agents.problems:
            self._say(f"Agent skipped: {problem}")
        self._offers["agent"] = [(a.name, a.about) for a in agents.by_name.values()]
        await self.load_called()
        infos = await chat.engine.sessions.list()
        self._offers["session"] = [(info.id[:8], info.title or "New chat") for info in infos]

    async def load_called(self) -> None:
        """Load the skills, commands and prompts that can be called in the chat's folder."""
        chat = self._chat
        found = await chat.engine.services.extensions(Path(chat.session.info.folder))
        self.called = {
            f"/{one.name}": (
                "prompt" if one.kind == "prompt" else "",
                f"{one.hint} {one.description}".strip(),
            )
            for one in found.by_hand
            if f"/{one.name}" not in self.all
        }

    async def of_servers(self, name: str, typed: str) -> tuple[int, Sequence[Offer]]:
        """What MCP servers have for what is typed after ``/name``, or, without one, after @."""
        services, folder = self._chat.engine.services, Path(self._chat.session.info.folder)
        entries, offers = await services.server_entries(folder), services.offers
        if name:
            return await offers.completed_argument(entries, name[1:], typed, folder)
        begun = typed.casefold()
        found = [
            replace(one, name=one.begun)
            for one in offers.resources(entries)
            if one.begun != typed and begun in one.name.casefold()
        ]
        if ":" in typed:
            found += await offers.completed(entries, typed, folder)
        return len(typed), [(one.name, one.about) for one in found]

    def completed(self) -> Mapping[str, tuple[Kind, str]]:
        """What can be typed after a slash, with what it takes and what it does."""
        own: dict[str, tuple[Kind, str]] = {
            name: (one.takes, one.about) for name, one in self.all.items()
        }
        return own | self.called

    def _say(self, *lines: str) -> None:
        self._chat.screen.say(*lines)

    async def _help(self, _: str) -> None:
        await self.load_called()
        for name, one in self.all.items():
            self._say(*_two_columns(f"{name} {one.shape}".rstrip(), one.about))
        for name, (_, about) in self.called.items():
            self._say(*_two_columns(name, about))
        self._say(
            "Enter sends, Alt-Enter or Ctrl-J begins a new line, Tab completes, @FILE attaches.",
            "What you send while the agent works is queued. Ctrl-C stops the tool that works, else "
            "or twice the agent. Ctrl-B lets the command that it waits for go on in the "
            "background.",
        )

    async def _model(self, wanted: str) -> None:
        chat, info = self._chat, self._chat.session.info
        if not wanted:
            listing = await chat.engine.list_models(info.provider)
            for model in listing.models:
                mark = "›" if model.id == info.model else " "
                self._say(f"{mark} {model.id}")
            if listing.reason:
                self._say(listing.reason)
            return
        found = await chat.engine.model_names.find(wanted, first=info.provider)
        await chat.session.change(provider=found.provider, model=found.model)
        self._say(f"Model: {found.model} of {PROVIDER_TITLES[found.provider]}")

    async def _agent(self, wanted: str) -> None:
        chat, info = self._chat, self._chat.session.info
        if not wanted:
            await self.load_offers()
            for name, about in self._offers["agent"]:
                self._say(f"{'›' if name == info.agent else ' '} {name}  {about}")
            return
        agent = await chat.engine.agent(wanted, Path(info.folder))
        await chat.session.change(agent=agent.name)
        self._say(f"Agent: {agent.name}")

    async def _handoff(self, number: str) -> None:
        chat = self._chat
        taken = await take_handoff(chat.engine, chat.session, number)
        self._say(f"Agent: {taken.agent}")
        if taken.prompt and taken.send:
            await chat.run_turn([Text(taken.prompt)])
        elif taken.prompt:
            chat.screen.give_back(taken.prompt)

    async def _permission(self, wanted: str) -> None:
        modes = get_args(PermissionMode)
        if wanted and wanted not in modes:
            raise ConfigurationError(f"The permission is one of {', '.join(modes)}.")
        if wanted:
            await self._chat.session.change(permission_mode=wanted)
        self._say(f"Permission: {self._chat.session.info.permission_mode}")

    async def _attach(self, name: str) -> None:
        if not name:
            raise ConfigurationError("Say which file: /attach FILE")
        block = await attach(self._path(name))
        check_total_size([*self._chat.attached, block])
        self._chat.attached.append(block)
        self._say(f"Goes with your next message: {name}")

    async def _folder(self, name: str) -> None:
        chat = self._chat
        if name:
            folder = self._path(name)
            if not folder.is_dir():
                raise ConfigurationError(f"The folder {folder} is not there.")
            await chat.session.change(folder=str(folder.resolve()))
            await self.load_offers()
        self._say(f"Folder: {chat.session.info.folder}")

    async def _steer(self, text: str) -> None:
        session = self._chat.session
        if not session.running:
            raise ConfigurationError("The agent is not at work. Say it as your next message.")
        if not text:
            raise ConfigurationError("Say what: /steer TEXT")
        session.steer(session.queue.add([Text(text)]))
        self._say(*f"With its next step: {text}".split("\n"))

    async def _new(self, _: str) -> None:
        chat, info = self._chat, self._chat.session.info
        session = await chat.engine.sessions.create(
            folder=info.folder,
            agent=info.agent,
            provider=info.provider,
            model=info.model,
            permission_mode=info.permission_mode,
            model_chosen=info.model_chosen,
            origin="terminal",
        )
        await chat.switch_to(session)

    async def _sessions(self, _: str) -> None:
        await self.load_offers()
        for start, title in self._offers["session"][:LISTED]:
            self._say(f"{start}  {title}")

    async def _resume(self, start: str) -> None:
        if not start:
            raise ConfigurationError("Say which chat: /resume ID. /sessions lists them.")
        chat = self._chat
        await chat.switch_to(
            await chat.engine.sessions.open(await find_session_id(chat.engine, start))
        )
        self.print_last_message()
        await self.load_offers()

    def print_last_message(self) -> None:
        """Print the last message of the session and its answer."""
        blocks = self._chat.session.transcript.blocks
        said = [at for at, block in enumerate(blocks) if isinstance(block, UserBlock)]
        for block in blocks[said[-1] :] if said else ():
            if isinstance(block, UserBlock):
                self._say("", *f"› {block.text}".split("\n"), "")
            elif isinstance(block, TextBlock):
                self._chat.screen.markdown(block.text)

    async def _retry(self, _: str) -> None:
        if not any(isinstance(block, UserBlock) for block in self._chat.session.transcript.blocks):
            raise ConfigurationError("There is nothing to try again yet.")
        await self._chat.run_turn(())

    async def _restore(self, turn: str, *, undo: bool) -> None:
        chat = self._chat
        await undo_or_redo(chat.engine, chat.session.info.id, turn, chat.screen, undo=undo)

    async def _jobs(self, words: str) -> None:
        jobs, chat = self._chat.session.jobs, self._chat.session.info.id
        listed = jobs.of(chat)
        if not words:
            for one in listed:
                state = "runs" if one.command.running else "is over"
                self._say(f"{one.id}  {state}, {one.command.seconds:.0f} s  {one.line}")
            if not listed:
                self._say("No command goes on in the background.")
            return
        *stop, wanted = words.split()
        found = next((one for one in listed if one.id == wanted), None)
        if found is None or stop not in ([], ["stop"]):
            raise ConfigurationError("Say which: /jobs ID or /jobs stop ID. /jobs lists them.")
        if stop:
            await jobs.stop(found)
            self._say(f"Stopped: {found.line}")
        else:
            self._say(*(found.output or "Nothing printed yet.").split("\n")[-LINES:])

    async def _drafts(self, _: str) -> None:
        if not self._chat.session.drafts.waiting():
            self._say("No draft waits for you.")
            return
        await self._chat.driver().offer_drafts()

    async def _context(self, _: str) -> None:
        chat = self._chat
        await show_context(chat.engine, chat.session.info.id, chat.screen)

    async def _compact(self, _: str) -> None:
        with self._printing_notices():
            await self._chat.session.context.summarise()

    async def _summary(self, words: str) -> None:
        session = self._chat.session
        what, _, text = words.partition(" ")
        summary = session.transcript.summary
        if summary is None:
            raise ConfigurationError("Nothing of this chat is summed up. /compact does that.")
        if what in ("", "show"):
            self._chat.screen.markdown(summary.text)
        elif what == "edit":
            with self._printing_notices():
                await session.context.edit_summary(summary.summary_id, text.strip())
            self._say("The model gets your summary from now on.")
        elif what == "undo":
            with self._printing_notices():
                await session.context.undo_summary(summary.summary_id)
        else:
            raise ConfigurationError("Say what: /summary show, /summary edit TEXT, /summary undo")

    async def _pin(self, what: str) -> None:
        kind = TextBlock if what == "answer" else UserBlock
        session = self._chat.session
        found = [at for at, one in enumerate(session.transcript.blocks) if isinstance(one, kind)]
        if not found:
            raise ConfigurationError("There is nothing to keep yet.")
        block = session.transcript.blocks[found[-1]]
        assert isinstance(block, TextBlock | UserBlock)
        await session.context.pin(found[-1], not block.pinned)
        self._say("Kept whole for the model." if block.pinned else "Not kept whole any longer.")

    async def _usage(self, _: str) -> None:
        chat = self._chat
        usage = await chat.engine.usage_costs.spent("model", chat.session.info.id)
        print_usage(usage, "model", chat.screen)

    async def _export(self, name: str) -> None:
        session = self._chat.session
        path = self._path(name) if name else Path.cwd() / f"chat-{session.info.id[:8]}.md"
        text = session_markdown(session.info, session.transcript)

        def write() -> None:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)

        try:
            await asyncio.to_thread(write)
        except FileExistsError:
            raise ConfigurationError(f"{path} is there already. Name another file.") from None
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be written: {error.strerror}.") from error
        self._say(f"Written: {path}")

    async def _quit(self, _: str) -> None:
        self._chat.screen.leave()

    @contextmanager
    def _printing_notices(self) -> Generator[None]:
        """Print notices and summaries that happen meanwhile."""
        printer = TextPrinter(self._chat.screen)

        def print_notice(envelope: EventEnvelope) -> None:
            if isinstance(envelope.event, Notice | Summarised):
                printer.event(envelope.event)

        unsubscribe = self._chat.session.subscribe(print_notice)
        try:
            yield
        finally:
            unsubscribe()

    def _path(self, name: str) -> Path:
        return typed_path(name, Path(self._chat.session.info.folder))


def _two_columns(term: str, about: str) -> list[str]:
    """A term and its description in two columns, or below each other on a narrow terminal."""
    columns = shutil.get_terminal_size().columns
    if columns < 2 * COLUMN:
        indent = "  "
        wrapped = textwrap.wrap(about, columns - 5, initial_indent=indent, subsequent_indent=indent)
        return [term, *wrapped]
    blank = " " * COLUMN
    lines = textwrap.wrap(about, columns - 1, initial_indent=blank, subsequent_indent=blank)
    return [f"{term:<{COLUMN}}{lines[0][COLUMN:]}", *lines[1:]]
