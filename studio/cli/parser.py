"""The command line.

Each command's options are made when the command is called for, so that help,
the version and completion start as quickly as Python itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, get_args

from studio import __version__

from . import kept_options
from .argument_types import caps, day, number, port, steps
from .exit_codes import USAGE

SESSION = "its id, its first letters, or “last”"
Fill: TypeAlias = Callable[[argparse.ArgumentParser], None]


class _Help(argparse.HelpFormatter):
    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        self._action_max_length += 2  # argparse forgets that subcommands are indented


class CommandParser(argparse.ArgumentParser):
    """Ends with our own code: argparse's is 2, which means a provider's error here."""

    def __init__(
        self,
        *args: Any,
        fill: Callable[[argparse.ArgumentParser], None] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._fill = fill
        self.several = ""
        """What to do where more words come than one."""

    def fill(self) -> None:
        """Make the options, if they are not made yet."""
        fill, self._fill = self._fill, None
        if fill is not None:
            fill(self)

    def parse_known_args(  # type: ignore[override]  (the base class overloads by namespace)
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        self.fill()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:  # said by the command they were given to, not by all of the program
            several = f". {self.several}" if self.several and unknown[0][:1] != "-" else ""
            self.error(f"unknown: {' '.join(unknown)}{several}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Two lines: what is wrong, and where the help is."""
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            message = f"missing: {missing}{self._ways(missing)}"
        self.exit(USAGE, f"{self.prog}: {message}\nFor help: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = ", ".join(map(str, action.choices))
            raise argparse.ArgumentError(action, f"“{value}” is none of {known}")

    def _ways(self, missing: str) -> str:
        """What a word that is missing can be."""
        for action in self._actions:
            if action.choices is not None and action.metavar == missing:
                return f", one of {', '.join(map(str, action.choices))}"
        return ""


def build_parser() -> CommandParser:
    """The whole command line; without a command the window opens."""
    root = CommandParser(
        prog="agent-studio",
        description="Work with AI agents. Without a command the window opens.",
        formatter_class=_Help,
        epilog="The options of a command: agent-studio COMMAND --help",
    )
    root.add_argument("--version", action="version", version=f"Agent Studio {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    for name, (text, fill) in _COMMANDS.items():
        commands.add_parser(name, help=text, fill=fill)
    return root


def _sessions(sessions: argparse.ArgumentParser) -> None:
    what = sessions.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = what.add_parser("list", help="all sessions, newest first")
    listing.add_argument("--json", action="store_true", help="print JSON")
    for name, text in (
        ("show", "print a session"),
        ("events", "print all that happened in a session as JSON"),
        ("native", "print the provider's own history as JSON"),
    ):
        one = what.add_parser(name, help=text)
        one.add_argument("id", metavar="ID", help=SESSION)

    context = what.add_parser("context", help="what takes how much of the model's context")
    context.add_argument("id", metavar="ID", help=SESSION)
    context.add_argument("--json", action="store_true", help="print JSON")

    for name, text in (
        ("undo", "put back the files that a turn changed"),
        ("redo", "change them again"),
    ):
        one = what.add_parser(name, help=text)
        one.add_argument("id", metavar="ID", help=SESSION)
        one.add_argument("turn", metavar="TURN", nargs="?", default="", help="default: the last")
        one.add_argument("--json", action="store_true", help="print JSON")


def _usage(usage: argparse.ArgumentParser) -> None:
    from studio.storage.sessions.usage import UsageKey

    usage.add_argument("--by", choices=get_args(UsageKey), default="day", help="default: day")
    usage.add_argument("--since", type=day, default=0.0, metavar="DATE", help="from a day on")
    usage.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")
    usage.add_argument("--json", action="store_true", help="print JSON")


def _models(models: argparse.ArgumentParser) -> None:
    from studio.domain.models import PROVIDER_TITLES

    models.add_argument(
        "--provider",
        choices=list(PROVIDER_TITLES),
        metavar="PROVIDER",
        help=", ".join(PROVIDER_TITLES),
    )
    models.add_argument("--refresh", action="store_true", help="ask the provider again")
    models.add_argument("--json", action="store_true", help="print JSON")


def _acp(acp: argparse.ArgumentParser) -> None:
    acp.description = (
        "Speak the Agent Client Protocol over standard input and output, so that an editor can "
        "work with your agents. The editor starts this command."
    )
    acp.add_argument(
        "--agent", metavar="AGENT", default="", help="default: your setting, else Coder"
    )


def _simulate(simulate: argparse.ArgumentParser) -> None:
    simulate.add_argument("--port", type=port, default=8799, help="0 takes a free one")


def _drafts(drafts: argparse.ArgumentParser) -> None:
    what = drafts.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = what.add_parser("list", help="what waits for you, newest first")
    listing.add_argument("--done", action="store_true", help="what is decided instead")
    listing.add_argument("--json", action="store_true", help="print JSON")
    show = what.add_parser("show", help="what a draft changes, and what its file changed to")
    show.add_argument("ids", metavar="ID", nargs=1, help="the draft's id, or its first letters")
    show.add_argument("--json", action="store_true", help="print JSON")
    for name, text in (
        ("approve", "write, delete or move the files"),
        ("discard", "leave the files as they are"),
        ("undo", "put back what approved drafts changed"),
    ):
        several = what.add_parser(name, help=text)
        several.add_argument("ids", metavar="ID", nargs="+", help="ids, or their first letters")
    resolve = what.add_parser("resolve", help="draft it anew where the file changed meanwhile")
    resolve.add_argument("ids", metavar="ID", nargs=1, help="the draft's id, or its first letters")
    text = resolve.add_mutually_exclusive_group(required=True)
    text.add_argument(
        "--use",
        choices=("merged", "draft", "file"),
        metavar="SIDE",
        help="merged: both changes; draft: as the agent wants it; file: as it is now",
    )
    text.add_argument("--from", dest="source", type=Path, metavar="FILE", help="your own text")
    resolve.add_argument("--json", action="store_true", help="print JSON")
    edit = what.add_parser("edit", help="give a draft a text of your own, in your editor")
    edit.add_argument("ids", metavar="ID", nargs=1, help="the draft's id, or its first letters")
    edit.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="take the text from a file, - is standard input; default: $VISUAL, else $EDITOR",
    )
    edit.add_argument("--json", action="store_true", help="print JSON")
    for command in what.choices.values():
        command.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")


def _chat(chat: argparse.ArgumentParser) -> None:
    from studio.domain.models import PROVIDER_TITLES

    chat.description = "Talk with an agent until you leave with Ctrl-D; /help lists the commands."
    chat.add_argument(
        "--provider",
        choices=list(PROVIDER_TITLES),
        metavar="PROVIDER",
        help=", ".join(PROVIDER_TITLES),
    )
    chat.add_argument(
        "--model", metavar="MODEL", help="default: your setting, else the first listed"
    )
    chat.add_argument("--agent", metavar="AGENT", help="default: your setting, else Coder")
    chat.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
    chat.add_argument("--session", metavar="ID", help=f"go on in this session: {SESSION}")


def _doctor(doctor: argparse.ArgumentParser) -> None:
    doctor.description = (
        "Look at versions, folders, database, keychain, providers, network, sandbox, built-in "
        "model, display, tools, agents, server and clock: a line each, and what to do. Exit code 1 "
        "if something is broken that stops the program."
    )
    doctor.add_argument("--offline", action="store_true", help="ask nobody outside this computer")
    doctor.add_argument("--json", action="store_true", help="print JSON")


def _run(run: argparse.ArgumentParser) -> None:
    from studio.domain.agents import NO_CAPS, Mode
    from studio.domain.models import EFFORTS, PROVIDER_TITLES

    assert isinstance(run, CommandParser)
    run.several = "A message of several words is put in quotes."
    run.description = (
        "Run one turn: the answer goes to standard output, everything about it to "
        "standard error. Exit codes: 0 done, 1 usage or configuration, 2 provider error, "
        "3 stopped by a limit, 4 a needed permission was not given, 130 cancelled."
    )
    run.add_argument(
        "message",
        nargs="?",
        metavar="MESSAGE",
        help="what to say; - or nothing reads standard input; "
        "what is piped in beside a message is attached to it",
    )
    run.add_argument(
        "--provider",
        choices=list(PROVIDER_TITLES),
        metavar="PROVIDER",
        help=f"{', '.join(PROVIDER_TITLES)}; "
        "default: your setting, else one with a key, else builtin",
    )
    run.add_argument(
        "--model", metavar="MODEL", help="default: your setting, else the first listed"
    )
    run.add_argument("--agent", metavar="AGENT", help="default: your setting, else Coder")
    run.add_argument(
        "--mode",
        choices=get_args(Mode),
        metavar="MODE",
        help=f"{' or '.join(get_args(Mode))}; default: the agent's",
    )
    run.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
    run.add_argument("--session", metavar="ID", help=f"go on in this session: {SESSION}")
    run.add_argument(
        "--attach",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="send a picture, PDF or text file with the message, - what is piped in; "
        "may be repeated",
    )
    run.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="RULE",
        help="allow in this turn: TOOL or TOOL(PATTERN), like 'run(pytest *)'; may be repeated",
    )
    run.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="RULE",
        help="refuse in this turn, which always wins; may be repeated",
    )
    run.add_argument(
        "--schema",
        metavar="SCHEMA",
        help="answer with JSON that fits a JSON schema: a file, or the schema itself",
    )
    run.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="put the answer into a file, when it is whole; - is standard output",
    )
    run.add_argument(
        "--quiet", action="store_true", help="print nothing but the answer, and what went wrong"
    )
    run.add_argument("--max-steps", type=steps, metavar="N", help="requests to the model at most")
    run.add_argument(
        "--budget",
        type=caps,
        default=NO_CAPS,
        metavar="BUDGET",
        help="what the turn may use: 0.50 is dollars, 20000tok tokens",
    )
    run.add_argument(
        "--effort",
        choices=EFFORTS,
        metavar="EFFORT",
        help=f"how hard to think: {', '.join(EFFORTS)}",
    )
    run.add_argument("--json", action="store_true", help="print one event a line")


def _audit(audit: argparse.ArgumentParser) -> None:
    from studio.storage.sessions.audit_log import AuditState

    audit.description = (
        "Every call of a tool, oldest first: its arguments without secrets, what it came to, "
        "and who allowed it. Calls of deleted sessions stay here."
    )
    audit.add_argument("--tool", metavar="TOOL", help="of one tool")
    audit.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")
    audit.add_argument("--agent", metavar="AGENT", help="of one agent")
    audit.add_argument(
        "--state",
        action="append",
        default=[],
        choices=get_args(AuditState),
        metavar="STATE",
        help=f"{', '.join(get_args(AuditState))}; may be repeated",
    )
    audit.add_argument("--since", type=day, default=0.0, metavar="DATE", help="from a day on")
    audit.add_argument("--until", type=day, default=0.0, metavar="DATE", help="before a day")
    audit.add_argument("--text", metavar="WORDS", help="with these words anywhere in it")
    form = audit.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON array")
    form.add_argument("--jsonl", action="store_true", help="print one JSON object a line")
    audit.add_argument("--output", type=Path, metavar="FILE", help="write JSONL to a file")


def _tools(tools: argparse.ArgumentParser) -> None:
    what = tools.add_subparsers(dest="what", required=True, metavar="WHAT")
    made = {
        "list": what.add_parser("list", help="all tools, and files that could not be loaded"),
        "show": what.add_parser("show", help="one tool: what a model is told of it"),
        "new": what.add_parser("new", help="begin a tool file of your own"),
        "test": what.add_parser("test", help="run a tool in a folder"),
    }
    for name, one in made.items():
        if name != "list":
            one.add_argument("name", metavar="NAME", help="the tool's name")
        one.add_argument("--json", action="store_true", help="print JSON")
    test = made["test"]
    test.add_argument("--args", default="{}", metavar="JSON", help="its arguments, a JSON object")
    test.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
    test.add_argument("--yes", action="store_true", help="run it without asking, if it acts")


def _serve(serve: argparse.ArgumentParser) -> None:
    serve.description = (
        "Answer other programs in the APIs of OpenAI and Anthropic, until Ctrl-C. They can ask "
        "for agent/NAME, or for PROVIDER/MODEL."
    )
    serve.add_argument("--host", metavar="HOST", help="default: your setting, else 127.0.0.1")
    serve.add_argument("--port", type=port, metavar="PORT", help="default: your setting, or 8765")
    serve.add_argument(
        "--folder", type=Path, metavar="DIR", help="where agents work; default: your setting"
    )
    token = serve.add_mutually_exclusive_group()
    token.add_argument("--show-token", action="store_true", help="print the token and end")
    token.add_argument("--renew-token", action="store_true", help="make and print another token")
    serve.add_argument(
        "--with-parent",
        action="store_true",
        help="end when standard input closes; tell the address as JSON",
    )


def _permissions(permissions: argparse.ArgumentParser) -> None:
    what = permissions.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = what.add_parser("list", help="your rules, and those of this folder or a session")
    listing.add_argument("--json", action="store_true", help="print JSON")
    add = what.add_parser("add", help="add a rule: 'TOOL' or 'TOOL(PATTERN)'")
    add.add_argument("rule", metavar="RULE", help="'run(pytest *)', for example; it allows")
    verdict = add.add_mutually_exclusive_group()
    verdict.add_argument("--deny", action="store_true", help="refuse what it matches")
    verdict.add_argument("--ask", action="store_true", help="always ask about what it matches")
    remove = what.add_parser("remove", help="remove a rule")
    remove.add_argument("number", type=number, metavar="N", help="its number in the list")
    test = what.add_parser("test", help="what would happen if an agent asked for this")
    test.add_argument("call", metavar="CALL", help="'run(git push)', for example")
    test.add_argument(
        "--agent",
        metavar="AGENT",
        default="",
        help="default: the session’s, your setting, Coder",
    )
    test.add_argument("--json", action="store_true", help="print JSON")
    for one, default in (
        (listing, "the current folder"),
        (add, "everywhere"),
        (test, "the current folder"),
    ):
        where = one.add_mutually_exclusive_group()
        where.add_argument("--folder", type=Path, metavar="DIR", help=f"default: {default}")
        where.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")
    remove.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")
    for name, text in (
        ("trust", "let the files in a folder's .agents widen what agents may do"),
        ("untrust", "take that back"),
    ):
        what.add_parser(name, help=text).add_argument("folder", type=Path, metavar="DIR")


_COMMANDS: dict[str, tuple[str, Fill]] = {
    "run": ("say something to an agent: one turn", _run),
    "chat": ("talk with an agent in the terminal", _chat),
    "doctor": ("look at everything the program needs, and say what to do", _doctor),
    "sessions": ("look at saved sessions, undo what a turn changed", _sessions),
    "drafts": ("look at drafts of files, and decide about them", _drafts),
    "permissions": ("say what agents may do without asking", _permissions),
    "audit": ("look at every call of a tool, and who allowed it", _audit),
    "usage": ("add up what requests used and cost", _usage),
    "tools": ("look at tools, write one, try one", _tools),
    "agents": ("look at agents, write one, check them", kept_options.agents),
    "models": ("list a provider's models", _models),
    "export": ("write conversations to a file", kept_options.export),
    "import": ("take conversations from files, also of ChatGPT and Claude", kept_options.bring),
    "config": ("look at settings, and change them", kept_options.config),
    "completion": ("make Tab complete this command in your shell", kept_options.completion),
    "serve": ("let other programs talk with your agents (OpenAI’s and Anthropic’s APIs)", _serve),
    "acp": ("let an editor work with your agents (Agent Client Protocol)", _acp),
    "simulate": ("run the provider simulator", _simulate),
}
"""Each command: what the help says of it, and what makes its options."""
