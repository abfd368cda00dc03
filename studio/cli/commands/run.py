"""``agent-studio run``: runs one turn and prints it as it comes."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from studio.cli.command_context import CommandContext
from studio.cli.parser import (
    CommandParser,
    ModeOption,
    answerer_options,
    caps,
    option,
    param,
    permission_option,
    seconds,
    session_options,
    steps,
)

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.cli.console import Console
    from studio.cli.final_answer import FinalAnswer
    from studio.cli.templates import Template
    from studio.cli.turn_driver import Printer
    from studio.domain.agents import Limits
    from studio.domain.jsonvalue import JsonObject
    from studio.domain.messages import Said
    from studio.domain.models import Generation

FORMATS = ("text", "json", "stream-json")
STANDARD = Path("-")
"""Standard input or output, where an option takes a file."""


def arguments(parser: CommandParser) -> None:
    from studio.domain.agents import NO_CAPS, Mode
    from studio.domain.models import EFFORTS

    parser.too_many_hint = "A message of several words is put in quotes."
    parser.description = (
        "Run one turn: the answer goes to standard output, everything about it to "
        "standard error. Exit codes: 0 done, 1 usage or configuration, 2 provider error, "
        "3 stopped by a limit, 4 a needed permission was not given, 130 cancelled."
    )
    parser.add_argument(
        "message",
        nargs="?",
        metavar="MESSAGE",
        help="what to say; - or nothing reads standard input; "
        "what is piped in beside a message is attached to it",
    )
    answerer_options(parser, "; default: your setting, else one with a key, else builtin")
    parser.add_argument(
        "--mode",
        action=ModeOption,
        choices=get_args(Mode),
        metavar="MODE",
        help=f"{', '.join(get_args(Mode)[:-1])} or {get_args(Mode)[-1]}; default: the agent's",
    )
    permission_option(parser)
    session_options(parser)
    parser.add_argument(
        "--no-keep", action="store_true", help="delete the session when the turn is over"
    )
    parser.add_argument(
        "-a",
        "--attach",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="send a picture, PDF or text file with the message, - what is piped in; "
        "may be repeated",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="RULE",
        help="allow in this turn: TOOL or TOOL(PATTERN), like 'run(pytest *)'; may be repeated",
    )
    parser.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="RULE",
        help="refuse in this turn, which always wins; may be repeated",
    )
    parser.add_argument(
        "--schema",
        metavar="SCHEMA",
        help="answer with JSON that fits a JSON schema: a file, or the schema itself",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="put the answer into a file, when it is whole; - is standard output",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="print nothing but the answer, and what went wrong"
    )
    parser.add_argument(
        "--max-steps", type=steps, metavar="N", help="requests to the model at most"
    )
    parser.add_argument("--seconds", type=seconds, metavar="N", help="seconds of work at most")
    parser.add_argument(
        "--budget",
        type=caps,
        default=NO_CAPS,
        metavar="BUDGET",
        help="what the turn may use: 0.50 is dollars, 20000tok tokens",
    )
    parser.add_argument(
        "--effort",
        choices=EFFORTS,
        metavar="EFFORT",
        help=f"how hard to think: {', '.join(EFFORTS)}",
    )
    parser.add_argument(
        "-o",
        "--option",
        action="append",
        default=[],
        type=option,
        metavar="NAME=VALUE",
        help="temperature, top_p, max_tokens or stop of the answers; may be repeated",
    )
    parser.add_argument(
        "-t",
        "--template",
        metavar="TEMPLATE",
        help="send a template, with the message in its place $input",
    )
    parser.add_argument(
        "-p",
        "--param",
        action="append",
        default=[],
        type=param,
        metavar="NAME=VALUE",
        help="the value of a place of the template; may be repeated",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "-x", "--extract", action="store_true", help="print the first block of code alone"
    )
    form.add_argument(
        "--output-format",
        choices=FORMATS,
        default="text",
        metavar="FORMAT",
        help=f"{', '.join(FORMATS)}: one JSON object at the end, or one a line as it comes",
    )
    form.add_argument("--json", action="store_true", help="print the program's own events")


async def run(context: CommandContext, options: Namespace) -> int:
    """Run one turn with the same engine as the window's."""
    engine, console = await context.engine(), context.console  # ahead of the imports: it pauses
    import asyncio  # the garbage collector, which would slow them down

    from studio.agent.permission.rules import parse_rule
    from studio.cli.exit_codes import CANCELLED
    from studio.cli.final_answer import FinalAnswer, check_output_path, read_schema
    from studio.cli.saved_sessions import open_session
    from studio.cli.turn_driver import TurnDriver
    from studio.domain.errors import ConfigurationError

    engine.http.plain = True  # one turn: an SDK would be imported longer than it would be used
    if options.no_keep and (options.go_on or options.session is not None):
        raise ConfigurationError("--no-keep is for a new session; this one is kept already.")
    if options.extract and options.schema:
        raise ConfigurationError("With --schema the answer is JSON and has no block of code.")
    machine = _is_for_machines(options)
    template = await _template(context, options)
    if options.allow:
        console.require_a_person()
    rules = [parse_rule(text, engine.tools()) for text in options.allow]
    rules += [parse_rule(text, engine.tools(), "deny") for text in options.deny]
    output: Path | None = options.output
    if output is not None:
        check_output_path(output)
    schema = await asyncio.to_thread(read_schema, options.schema) if options.schema else None
    message = await _message(options, console, template)
    await _check_call(engine, options, message)
    session = await open_session(engine, options, console, _say_unless(options.quiet, console))
    for problem in (await engine.agents(Path(session.info.folder))).problems:
        if not options.quiet:
            console.say(f"Agent skipped: {problem}")
    person = console.interactive and not machine
    answer = FinalAnswer(schema, code=options.extract)
    window = None if person else engine.questions
    printer = _printer(options, console, answer)
    driver = TurnDriver(session, console, printer, window, answer, options.seconds)
    wanted: dict[str, Any] = {
        "generation": _generation(options, schema),
        "caps": options.budget,
        "invokes": True,
    }
    async with _deleted_afterwards(engine, session, options.no_keep):
        with _stop_on_interrupt(driver.stop):
            limits = await _limits(engine, session, options)
            code = await driver.run_turn(message, rules, options.mode, limits=limits, **wanted)
            if person and limits is None and driver.capped and await driver.ask_background():
                code = await driver.run_turn((), rules, "background", **wanted)
            if person and code != CANCELLED:
                await driver.offer_drafts()
        waiting = session.drafts.waiting()
    if driver.fault == "no_key":
        from .keys import ways_to_give_key

        console.say(ways_to_give_key(session.info.provider))
    if driver.fault == "not_found":
        info = session.info
        if hint := await engine.model_names.hint(info.model, info.provider):
            console.say(hint)
    to_file = output not in (None, STANDARD)
    if driver.answered and not _streams(options) and (to_file or not machine):
        await answer.write(console, output)
    if options.quiet:
        return CANCELLED if driver.stopped else code
    if waiting:
        paths = ", ".join(dict.fromkeys(draft.label for draft in waiting))
        gone = "Not written, and gone with the session"
        say = gone if options.no_keep else "Not written yet, waiting for your approval"
        console.say(f"{say}: {paths}")
    if not (machine or options.no_keep):
        console.say(f"To go on: --session {session.info.id[:8]}")
    return CANCELLED if driver.stopped else code


async def _check_call(engine: Engine, options: Namespace, message: Sequence[Said]) -> None:
    """Raises ConfigurationError for a message that begins with the name of no command."""
    from studio.agent.session.invocation import CALLS, mistyped
    from studio.cli.saved_sessions import folder_of
    from studio.domain.errors import ConfigurationError
    from studio.domain.messages import Text

    text = next((part.text for part in message if isinstance(part, Text)), "")
    if CALLS.match(text):
        found = await engine.services.extensions(await folder_of(engine, options))
        if wrong := mistyped(text, [one.name for one in found.by_hand]):
            raise ConfigurationError(
                f"{wrong} Nothing was sent. agent-studio skills list has all of them."
            )


def _is_for_machines(options: Namespace) -> bool:
    """Whether JSON is printed, so that nothing is asked at the terminal."""
    return options.json or options.output_format != "text"


def _generation(options: Namespace, schema: JsonObject | None) -> Generation:
    from studio.domain.models import Generation

    given: dict[str, Any] = dict(options.option)
    given["stop"] = tuple(value for name, value in options.option if name == "stop")
    return Generation(effort=options.effort, schema=schema, **given)


@asynccontextmanager
async def _deleted_afterwards(
    engine: Engine, session: Session, wanted: bool
) -> AsyncGenerator[None]:
    """Delete the session in the end, also where its turn failed, if that is ``wanted``."""
    from studio.storage.sessions.idempotency import IdempotencyStore

    if wanted:  # also if this program is killed: then by the next server that starts
        await IdempotencyStore(engine.database).mark_temporary(session.info.id)
    try:
        yield
    finally:
        if wanted:
            await engine.sessions.delete(session.info.id)


async def _template(context: CommandContext, options: Namespace) -> Template | None:
    """The template, whose choices are now in ``options``; raises ConfigurationError."""
    if options.template is None:
        return None
    import asyncio

    from studio.cli.templates import read_template

    folder = context.paths.templates
    template = await asyncio.to_thread(read_template, folder, options.template)
    template.apply(options)
    return template


async def _message(options: Namespace, console: Console, template: Template | None) -> list[Said]:
    """The attachments and the message; raises ConfigurationError if there is neither."""
    from studio.agent.attachments import attach, check_total_size
    from studio.cli.console import (
        FIRST_BYTE_SECONDS,
        NO_INPUT_NOTICE,
        read_stdin,
        stdin_attachment,
    )
    from studio.domain.errors import ConfigurationError
    from studio.domain.messages import Text

    message: str | None = options.message
    if message is None and template is not None and not template.wants_input:
        message = ""
    blocks: list[Said] = []
    for path in dict.fromkeys(options.attach):
        if path != STANDARD:
            blocks.append(await attach(path))
        elif message in (None, "-"):
            raise ConfigurationError(
                "Standard input is either the message or attached to one. Give a message."
            )
        elif (block := await stdin_attachment()) is not None:
            blocks.append(block)
    if message in (None, "-"):
        if console.interactive:
            console.say("Your message, ended by Ctrl-D on a line of its own:")
        message = (await read_stdin()).decode("utf-8-sig", "replace")
    elif STANDARD not in options.attach and not _at_terminal():
        try:
            block = await stdin_attachment(FIRST_BYTE_SECONDS)
            blocks += [block] if block is not None else []
        except TimeoutError:
            if not options.quiet:
                console.say(NO_INPUT_NOTICE)
    check_total_size(blocks)
    # An argument that is not UTF-8 has broken characters, which cannot be stored.
    message = message.encode("utf-8", "replace").decode().strip()
    if template is not None:
        message = template.fill(message, options.param)
    if not message and not blocks:
        raise ConfigurationError("There is no message. Give one, or pipe one in.")
    return [*blocks, *([Text(message)] if message else [])]


def _say_unless(quiet: bool, console: Console) -> Callable[[str], None]:
    return (lambda line: None) if quiet else console.say


def _at_terminal() -> bool:
    # None if the program was started without standard input.
    return sys.stdin is None or sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]


async def _limits(engine: Engine, session: Session, options: Namespace) -> Limits | None:
    """The agent's limits with those of ``--max-steps`` and ``--seconds``; None without both."""
    if options.max_steps is None and options.seconds is None:
        return None
    agent = await engine.agent(session.info.agent, Path(session.info.folder))
    limits = engine.limits(agent, options.mode or agent.mode)
    return replace(
        limits,
        steps=options.max_steps or limits.steps,
        seconds=options.seconds or limits.seconds,
    )


def _streams(options: Namespace) -> bool:
    """Whether text is printed as it comes, also what is said between tool calls."""
    return not (options.quiet or options.output or options.schema or options.extract)


def _printer(options: Namespace, console: Console, answer: FinalAnswer) -> Printer:
    from studio.cli.event_printer import AnswerPrinter, JsonPrinter, TextPrinter

    if options.output_format != "text":
        from studio.cli.json_stream import JsonStreamPrinter

        return JsonStreamPrinter(console, answer, whole=options.output_format == "json")
    if options.json:
        return JsonPrinter(console)
    if _streams(options):
        return TextPrinter(console)
    return AnswerPrinter(console, brief=options.quiet)


def _stop_on_interrupt(stop: Callable[[], None]) -> AbstractContextManager[None]:
    """Stop the turn on Ctrl-C, SIGTERM and a closed terminal; a second Ctrl-C ends the program."""
    import asyncio
    import signal

    from studio.cli.console import on_signals

    loop = asyncio.get_running_loop()

    def stop_once() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stop()

    return on_signals({"SIGINT": stop_once, "SIGTERM": stop, "SIGHUP": stop})
