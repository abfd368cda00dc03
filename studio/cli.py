"""The terminal door: one turn with the same engine, and a look at what is saved.

Exit codes of ``run``: 0 done, 1 usage or configuration, 2 provider error,
3 stopped by a limit, 4 a needed permission was not given, 130 cancelled.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from studio import __version__
from studio.agent.connections import TITLES
from studio.agent.session import Session
from studio.agent.studio import Studio
from studio.domain.codec import encode_event
from studio.domain.errors import ConfigurationError, ProviderError, StudioError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    Failed,
    Notice,
    PermissionResolved,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnComplete,
)
from studio.domain.messages import Text
from studio.domain.permissions import Answer, Rule
from studio.domain.sessions import SessionInfo
from studio.domain.transcript import TextBlock, ToolBlock, Transcript, UserBlock

DONE, USAGE, PROVIDER, LIMIT, DENIED, CANCELLED = 0, 1, 2, 3, 4, 130
LIMITS = {"step_limit", "token_limit", "money_limit", "time_limit", "stalled"}


def parser() -> argparse.ArgumentParser:
    """The whole command line; without a command the window opens."""
    root = argparse.ArgumentParser(
        prog="agent-studio", description="Work with AI agents. Without a command the window opens."
    )
    root.add_argument("--version", action="version", version=f"Agent Studio {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")

    run = commands.add_parser("run", help="run one turn in the terminal")
    run.add_argument("message", nargs="?", help="what to say; - or nothing reads standard input")
    run.add_argument("--provider", choices=list(TITLES), help="default: your setting, else builtin")
    run.add_argument("--model")
    run.add_argument("--agent", help="default: your setting, else Coder")
    run.add_argument("--folder", type=Path, help="default: the current folder")
    run.add_argument("--session", metavar="ID", help="go on in this session")
    run.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="RULE",
        help="allow without asking: TOOL or TOOL(PATTERN), for example 'run(pytest *)'",
    )
    run.add_argument("--json", action="store_true", help="print one event a line")

    models = commands.add_parser("models", help="list a provider's models")
    models.add_argument("--provider", choices=list(TITLES))
    models.add_argument("--refresh", action="store_true", help="ask the provider again")
    models.add_argument("--json", action="store_true")

    sessions = commands.add_parser("sessions", help="look at saved sessions")
    what = sessions.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = what.add_parser("list", help="all sessions, newest first")
    listing.add_argument("--json", action="store_true")
    for name, text in (
        ("show", "print a session"),
        ("export", "write a session as markdown or JSON"),
        ("native", "print the provider's own history as JSON"),
    ):
        one = what.add_parser(name, help=text)
        one.add_argument("id", metavar="ID", help="the session's id, or its first letters")
        if name == "export":
            one.add_argument("--format", choices=["md", "json"], default="md")

    simulate = commands.add_parser("simulate", help="run the provider simulator")
    simulate.add_argument("--port", type=int, default=8799)
    return root


async def command(studio: Studio, options: argparse.Namespace) -> int:
    """Run a parsed command; every error a person can mend is printed, not raised."""
    try:
        match options.command:
            case "run":
                return await run(studio, options)
            case "models":
                return await models(studio, options)
            case _:
                return await sessions(studio, options)
    except ProviderError as error:
        _say(f"{error}")
        return USAGE if error.fault == "no_key" else PROVIDER
    except (StudioError, OSError) as error:
        _say(str(error))
        return USAGE


async def run(studio: Studio, options: argparse.Namespace) -> int:
    """One turn, printed as it comes."""
    rules: list[Rule] = []
    for text in options.allow:
        try:
            rules.append(Rule.parse(text))
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
    from_input = options.message in (None, "-")
    message: str = await asyncio.to_thread(sys.stdin.read) if from_input else options.message
    if not message.strip():
        raise ConfigurationError("There is nothing to say. Give a message, or pipe one in.")
    session = await _session(studio, options)
    terminal = sys.stdin.isatty() and not from_input and not options.json
    printer = JsonPrinter(sys.stdout) if options.json else TextPrinter(sys.stdout, sys.stderr)
    return await _turn(session, message, rules, terminal, printer)


async def _session(studio: Studio, options: argparse.Namespace) -> Session:
    if options.folder is not None and not options.folder.is_dir():
        raise ConfigurationError(f"The folder {options.folder} is not there.")
    folder = (options.folder or Path.cwd()).resolve()
    if options.session:
        session = await studio.sessions.open(await _whole_id(studio, options.session))
        changes: dict[str, Any] = {}
        if options.folder is not None:
            changes["folder"] = str(folder)
        if options.agent:
            agent = await studio.agent(options.agent, Path(session.info.folder))
            changes["agent"] = agent.name
        if options.provider and options.provider != session.info.provider:
            model = options.model or await studio.default_model(options.provider)
            changes |= {"provider": options.provider, "model": model}
        elif options.model:
            changes["model"] = options.model
        if changes:
            await session.change(**changes)
        return session
    choice = await studio.choose(
        agent=options.agent or "",
        provider=options.provider or "",
        model=options.model or "",
        folder=folder,
    )
    return await studio.sessions.create(
        folder=str(folder), agent=choice.agent, provider=choice.provider, model=choice.model
    )


async def _turn(
    session: Session,
    message: str,
    rules: Sequence[Rule],
    terminal: bool,
    printer: JsonPrinter | TextPrinter,
) -> int:
    denied = False
    failed: Failed | None = None
    asking: set[asyncio.Task[None]] = set()
    reason = "error"
    with _interrupts(session.stop):
        async for event in session.turn([Text(message)], rules=rules):
            printer.event(event)
            match event:
                case AwaitingPermission() | AwaitingReply():
                    task = asyncio.create_task(_ask(session, event, terminal))
                    asking.add(task)
                    task.add_done_callback(asking.discard)
                case PermissionResolved():
                    denied = denied or event.answer == "deny"
                case Failed():
                    failed = event
                case TurnComplete():
                    reason = event.reason
                case _:
                    pass
        for task in asking:
            task.cancel()
        if terminal and reason == "done":
            await _offer_drafts(session)
    if waiting := session.drafts.waiting():
        _say(f"Drafts waiting for approval: {', '.join(draft.path for draft in waiting)}")
    return exit_code(reason, denied, failed)


def exit_code(reason: str, denied: bool, failed: Failed | None) -> int:
    if reason == "cancelled":
        return CANCELLED
    if reason in LIMITS:
        return LIMIT
    if reason == "refused":
        return PROVIDER
    if reason == "error":
        fault = failed.fault if failed else "internal"
        return USAGE if fault in ("no_key", "configuration", "storage") else PROVIDER
    return DENIED if denied else DONE


async def _ask(session: Session, event: AwaitingPermission | AwaitingReply, terminal: bool) -> None:
    """Put a question to the terminal; where there is none the answer is no."""
    if isinstance(event, AwaitingReply):
        if not terminal:
            session.reply(event.call_id, "Nobody is here to answer. Decide yourself, or stop.")
            return
        choices = f" [{' / '.join(event.choices)}]" if event.choices else ""
        session.reply(event.call_id, await _line(f"\n? {event.text}{choices} "))
        return
    question = event.question
    if not terminal:
        session.answer(question.id, "deny")
        return
    facts = "  ".join(text for _, text in question.facts)
    always = f", [a]lways {question.always} in this session" if question.always else ""
    _say(f"\n{question.title}\n    {question.detail}\n{facts}")
    answers: dict[str, Answer] = {"y": "once", "a": "session", "n": "deny"}
    while True:
        word = (await _line(f"Allow? [y]es once{always}, [n]o: ")).strip().lower()[:1]
        if word in answers and (word != "a" or question.always):
            session.answer(question.id, answers[word])
            return
        if not word:
            session.answer(question.id, "deny")
            return


async def _offer_drafts(session: Session) -> None:
    for draft in session.drafts.waiting():
        added, removed = draft.counts()
        word = await _line(f"Write {draft.path} (+{added} −{removed})? [y]es, [n]o, [d]iscard: ")
        if word.strip().lower()[:1] == "y":
            status = await session.decide(draft.id, "approve")
            _say("Written." if status == "approved" else f"Not written: {status}.")
        elif word.strip().lower()[:1] == "d":
            await session.decide(draft.id, "discard")


async def _line(prompt: str) -> str:
    """One line from the terminal; an empty one at its end. The thread dies with the program."""
    from studio.tools.threads import in_daemon_thread

    sys.stderr.write(prompt)
    sys.stderr.flush()
    return await in_daemon_thread(sys.stdin.readline)


class _interrupts:
    """Ctrl-C and a polite kill stop the turn, once; a second Ctrl-C ends the program."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            self._stop()

        try:
            loop.add_signal_handler(signal.SIGINT, stop)
            loop.add_signal_handler(signal.SIGTERM, self._stop)
        except NotImplementedError:  # Windows has none; Ctrl-C then cancels the main task
            return

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        try:
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)
        except NotImplementedError:
            return


class JsonPrinter:
    """One event a line; the first names the session, the last is ``turn_complete``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def event(self, event: Event) -> None:
        self._out.write(json.dumps(encode_event(event), ensure_ascii=False) + "\n")
        self._out.flush()


class TextPrinter:
    """The answer on standard output, everything about it on standard error."""

    def __init__(self, out: TextIO, about: TextIO) -> None:
        self._out = out
        self._about = about
        self._transcript = Transcript()
        self._open_line = False

    def event(self, event: Event) -> None:
        index = self._transcript.apply(event)
        match event:
            case TextDelta():
                self._out.write(event.text)
                self._out.flush()
                self._open_line = not event.text.endswith("\n")
            case ToolStarted():
                if (tool := self._tool(index)) is not None:
                    self._remark(f"· {tool.verb} {tool.target}".rstrip())
            case ToolFinished():
                if (tool := self._tool(index)) is not None and event.is_error:
                    self._remark(f"× {tool.name} {tool.target}: {event.summary or 'failed'}")
            case Notice():
                self._remark(event.text)
            case Failed():
                self._remark(event.title if event.provider else f"{event.title}: {event.detail}")
            case TurnComplete():
                self._newline()
                if event.reason in LIMITS:
                    self._remark(event.detail)
                elif event.reason == "cancelled":
                    self._remark("Stopped.")
            case _:
                pass

    def _tool(self, index: int | None) -> ToolBlock | None:
        block = self._transcript.blocks[index] if index is not None else None
        return block if isinstance(block, ToolBlock) else None

    def _remark(self, text: str) -> None:
        self._newline()
        self._about.write(text + "\n")
        self._about.flush()

    def _newline(self) -> None:
        if self._open_line:
            self._out.write("\n")
            self._out.flush()
            self._open_line = False


async def models(studio: Studio, options: argparse.Namespace) -> int:
    """List a provider's models: fetched first, then those built in."""
    name = options.provider or await studio.connections.default()
    listing = await studio.list_models(name, refresh=options.refresh)
    if options.json:
        print(
            json.dumps(
                {
                    "provider": name,
                    "state": listing.state,
                    "reason": listing.reason,
                    "models": [asdict(model) for model in listing.models],
                },
                ensure_ascii=False,
            )
        )
    else:
        for model in listing.models:
            window = f"{model.context_window:,}" if model.context_window else ""
            mark = "" if model.source == "fetched" else "built-in list"
            print(f"{model.id:<44} {window:>12}  {mark}".rstrip())
        if listing.reason:
            _say(listing.reason)
    return DONE


async def sessions(studio: Studio, options: argparse.Namespace) -> int:
    """List, show, export; ``native`` prints what the next request would be made of."""
    if options.what == "list":
        infos = await studio.sessions.list()
        if options.json:
            print(json.dumps([asdict(info) for info in infos], ensure_ascii=False))
        for info in [] if options.json else infos:
            when = datetime.fromtimestamp(info.updated).strftime("%Y-%m-%d %H:%M")
            print(f"{info.id[:8]}  {when}  {info.state:<10}  {info.title or 'New chat'}")
        return DONE
    session_id = await _whole_id(studio, options.id)
    if options.what == "native":
        native = await studio.store.native(session_id)
        items = native.items if native else []
        print(json.dumps(items, ensure_ascii=False, indent=2))
        return DONE
    info = await studio.store.get(session_id)
    assert info is not None
    events = await studio.store.events(session_id)
    if options.what == "export" and options.format == "json":
        body = {"session": asdict(info), "events": [encode_event(event) for event in events]}
        print(json.dumps(body, ensure_ascii=False, indent=2))
    else:
        print(as_markdown(info, Transcript(events)))
    return DONE


def as_markdown(info: SessionInfo, transcript: Transcript) -> str:
    """A session for reading: what was said, and one line for each tool."""
    out = [f"# {info.title or 'New chat'}", f"{info.agent} on {info.model}, in {info.folder}"]
    for block in transcript.blocks:
        match block:
            case UserBlock():
                out.append(f"## You\n\n{block.text}")
            case TextBlock():
                out.append(block.text.strip())
            case ToolBlock():
                row = f"> {block.done or block.name} `{block.target}`"
                out.append(f"{row} — {block.summary or block.state}")
            case _:
                pass
    return "\n\n".join(out) + "\n"


async def _whole_id(studio: Studio, start: str) -> str:
    found = [info.id for info in await studio.sessions.list() if info.id.startswith(start)]
    if start in found:
        return start
    if len(found) != 1:
        many = "more than one session" if found else "no session"
        raise ConfigurationError(f"There is {many} with an id that begins with {start}.")
    return found[0]


def _say(text: str) -> None:
    print(text, file=sys.stderr)
