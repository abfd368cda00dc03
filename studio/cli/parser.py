"""The argument parser of the command line, and the types of its arguments.

Adds the arguments of a command when the command is named, so that help, the version
and completion start as quickly as Python itself.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from .exit_codes import USAGE

if TYPE_CHECKING:
    from pathlib import Path

    from studio.domain.agents import Caps
    from studio.domain.jsonvalue import Json

SESSION = "its id, its first letters, or “last”"
"""How the help describes the id of a session."""
MAX_STEPS = 1_000


class HelpFormatter(argparse.HelpFormatter):
    """Indents subcommands without cutting their column."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        self._action_max_length += 2  # argparse forgets that subcommands are indented


class ModeOption(argparse.Action):
    """``--mode`` of a turn; takes the words of ``--permission`` too, and says where they belong."""

    @property
    def permissions(self) -> tuple[str, ...]:
        from studio.domain.agents import PermissionMode

        return get_args(PermissionMode)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        if values in self.permissions:
            print(f"{option} {values} is now --permission {values}.", file=sys.stderr)
            namespace.permission = values
        else:
            setattr(namespace, self.dest, values)


class CommandParser(argparse.ArgumentParser):
    """Parses a command line; wrong use ends with our own exit code.

    argparse's is 2, which means an error of the provider here. ``add_arguments`` is
    called when the arguments are needed for the first time.
    """

    def __init__(
        self,
        *args: Any,
        add_arguments: Callable[[CommandParser], None] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._add_arguments = add_arguments
        self.too_many_hint = ""
        """The advice where more words come than the command takes."""

    def define_arguments(self) -> None:
        """Add the command's arguments, if they are not there yet."""
        add_arguments, self._add_arguments = self._add_arguments, None
        if add_arguments is not None:
            add_arguments(self)

    def add_subcommands(self, helps: Mapping[str, str]) -> dict[str, CommandParser]:
        """Add a parser for each subcommand, by its name; ``helps`` has a line about each."""
        what = self.add_subparsers(dest="what", required=True, metavar="WHAT")
        return {name: what.add_parser(name, help=text) for name, text in helps.items()}

    def parse_known_args(  # type: ignore[override]  (the base class overloads by namespace)
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        self.define_arguments()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:  # reported by the command they were given to, not by the whole program
            is_word = unknown[0][:1] != "-"
            hint = f". {self.too_many_hint}" if self.too_many_hint and is_word else ""
            self.error(f"unknown: {' '.join(unknown)}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where the help is, in two lines, and end the program."""
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            message = f"missing: {missing}{self._choices_of(missing)}"
        self.exit(USAGE, f"{self.prog}: {message}\nFor help: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, ModeOption) and value in action.permissions:
            return
        if action.choices is not None and value not in action.choices:
            known = ", ".join(map(str, action.choices))
            problem = f"“{value}” is not one of {known}"
            if action.nargs == argparse.PARSER:  # the commands are many
                from difflib import get_close_matches

                if near := get_close_matches(value, map(str, action.choices)):
                    problem = f"there is no “{value}”. Did you mean {' or '.join(near)}?"
            raise argparse.ArgumentError(action, problem)

    def _choices_of(self, missing: str) -> str:
        """The values that a missing argument can have."""
        for action in self._actions:
            if action.choices is not None and action.metavar == missing:
                return f", one of {', '.join(map(str, action.choices))}"
        return ""


def export_arguments(parser: CommandParser) -> None:
    """Where results are written, and how; see ``export_format``."""
    from pathlib import Path

    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: standard output"
    )
    parser.add_argument(
        "--format", choices=("csv", "jsonl"), help="default: by the file's name, else jsonl"
    )


def export_format(options: argparse.Namespace) -> str:
    place: Path | None = options.output
    return options.format or ("csv" if place and place.suffix.lower() == ".csv" else "jsonl")


def provider_option(parser: CommandParser, default: str = "") -> None:
    from studio.providers.registry import PROVIDER_TITLES

    names = list(PROVIDER_TITLES)
    parser.add_argument(
        "--provider", choices=names, metavar="PROVIDER", help=f"{', '.join(names)}{default}"
    )


def answerer_options(parser: CommandParser, default: str = "") -> None:
    """Add who answers: the provider, with its ``default`` in words, the model and the agent."""
    provider_option(parser, default)
    parser.add_argument(
        "-m",
        "--model",
        type=_named,
        metavar="MODEL",
        help="its id or PROVIDER/ID; default: your setting, else the first listed",
    )
    parser.add_argument(
        "--agent", type=_named, metavar="AGENT", help="default: your setting, else Coder"
    )


def _named(text: str) -> str:
    """Parses a name; an empty one, as of a variable that is not set, chooses nothing else."""
    if not text.strip():
        raise argparse.ArgumentTypeError("no name is given; leave the option out for the default")
    return text


def session_options(parser: CommandParser) -> None:
    """Add where the conversation is: the folder, and the session that is gone on in."""
    from pathlib import Path

    parser.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--session", metavar="ID", help=f"go on in this session: {SESSION}")
    which.add_argument(
        "-c",
        "--continue",
        dest="go_on",
        action="store_true",
        help="go on in the last session of the folder",
    )
    parser.add_argument(
        "-s",
        "--system",
        metavar="TEXT",
        help="instructions in addition to the agent's, for the whole session",
    )


def option(text: str) -> tuple[str, Any]:
    """Parses an option of the model's answers, like ``temperature=0``: its field and its value."""
    name, equals, value = text.partition("=")
    known: dict[str, tuple[str, Callable[[str], Any], str]] = {
        "temperature": ("temperature", _share(2), "a number from 0 to 2"),
        "top_p": ("top_p", _share(1), "a number from 0 to 1"),
        "max_tokens": ("output_limit", _whole_number(1, 10**9, ""), "a whole number from 1 on"),
        "stop": ("stop", str, "a text at which the answer ends"),
    }
    if not equals or name not in known:
        raise argparse.ArgumentTypeError(f"an option is NAME=VALUE, of {', '.join(known)}")
    field, parse, takes = known[name]
    try:
        if value:
            return field, parse(value)
        raise ValueError(value)
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(f"{name} is {takes}, not “{value}”") from None


def param(text: str) -> tuple[str, str]:
    """Parses the value of a template's place: ``language=German``."""
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise argparse.ArgumentTypeError("the value of a place is NAME=VALUE")
    return name, value


def input_value(text: str) -> tuple[str, str]:
    """Parses an input of a workflow: ``tag=v2.4``."""
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise argparse.ArgumentTypeError("an input is NAME=VALUE")
    return name, value


def step_output(text: str) -> tuple[str, Json]:
    """Parses what a step is to have come to: ``plan={"parts": 2}``; what is no JSON is a text."""
    step, equals, value = text.partition("=")
    if not (equals and step):
        raise argparse.ArgumentTypeError("the output of a step is STEP=JSON")
    try:
        return step, json.loads(value)
    except (ValueError, RecursionError):
        return step, value


def dollars(text: str) -> float:
    """Parses an amount of money above nothing: ``2.50`` or ``$2.50``."""
    try:
        if 0 < (found := float(text.strip().removeprefix("$"))) < math.inf:
            return found
    except ValueError:
        pass
    raise argparse.ArgumentTypeError("an amount in dollars is needed, like 2.50")


def minutes(text: str) -> float:
    """Parses a span of time above nothing, in minutes."""
    try:
        if 0 < (found := float(text)) < math.inf:
            return found
    except ValueError:
        pass
    raise argparse.ArgumentTypeError("a number of minutes is needed, like 30")


def hours(text: str) -> float:
    """Parses a span of time above nothing, in hours."""
    try:
        if 0 < (found := float(text)) <= 1_000:
            return found
    except ValueError:
        pass
    raise argparse.ArgumentTypeError("a number of hours is needed, like 8")


def time_of_day(text: str) -> str:
    """Parses a time of the day: ``06:00``."""
    hour, _, minute = text.strip().partition(":")
    digits = hour.isdecimal() and minute.isdecimal() and len(minute) == 2
    if digits and int(hour) < 24 and int(minute) < 60:
        return f"{int(hour):02}:{minute}"
    raise argparse.ArgumentTypeError("a time of the day is needed, like 06:00")


def percent(text: str) -> float:
    """Parses a share in percent: ``85`` or ``85%``."""
    try:
        if 0 <= (found := float(text.strip().removesuffix("%"))) <= 100:
            return found
    except ValueError:
        pass
    raise argparse.ArgumentTypeError("a percentage from 0 to 100 is needed, like 85")


def _share(most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if 0 <= (found := float(text)) <= most:
            return found
        raise ValueError(text)

    return parse


def permission_option(parser: CommandParser) -> None:
    """Add what happens to calls that no rule decides."""
    from studio.domain.agents import PermissionMode

    parser.add_argument(
        "--permission",
        choices=get_args(PermissionMode),
        metavar="PERMISSION",
        help="ask before each change, auto to write drafts at once, plan to change nothing; "
        "default: your setting",
    )


def day(text: str) -> float:
    """Parses a day: when it begins here, in seconds since the epoch.

    It is a date, ``today``, ``yesterday``, or ``7d``, which is seven days ago.
    """
    from datetime import date, datetime, time, timedelta

    word = text.strip().lower()
    back = {"today": "0", "yesterday": "1"}.get(word, word.removesuffix("d"))
    try:
        if back != word and back.isdecimal():
            found = date.today() - timedelta(days=int(back))
        else:
            found = date.fromisoformat(word)
        return datetime.combine(found, time()).timestamp()
    except (ValueError, OverflowError, OSError):  # no date, or none that clocks know
        raise argparse.ArgumentTypeError(
            "a day is written like 2026-11-01, today, yesterday, or 7d for seven days ago"
        ) from None


def _whole_number(least: int, most: float, why: str) -> Callable[[str], int]:
    """A parser of whole numbers; ``why`` is the error for everything else."""

    def parse(text: str) -> int:
        if text.isdecimal() and least <= int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(why)

    return parse


number = _whole_number(0, math.inf, "the number of a rule is needed, as in permissions list")
steps = _whole_number(1, MAX_STEPS, f"a number from 1 to {MAX_STEPS:,} is needed")
seconds = _whole_number(1, 86_400, "seconds from 1 to 86,400 are needed")
wait = _whole_number(1, 3600, "seconds from 1 to 3,600 are needed")
cycles = _whole_number(1, 10_000, "a number of cycles from 1 to 10,000 is needed")
tokens = _whole_number(1, math.inf, "a number of tokens is needed, such as 500000")
repeats = _whole_number(1, 100, "a number of tries from 1 to 100 is needed")
most = _whole_number(1, math.inf, "how many at most is a number from 1 on")
port = _whole_number(0, 65535, "a port is a number from 0 to 65535")


def caps(text: str) -> Caps:
    """Parses a budget: ``0.50`` or ``$0.50`` is dollars, ``20000tok`` is tokens."""
    from studio.domain.agents import Caps

    form = re.fullmatch(r"\$?(\d+(?:\.\d*)?|\.\d+)|(\d+) ?tok(?:ens)?", text.strip())
    wanted = Caps(int(form[2] or 0), float(form[1] or 0)) if form else Caps()
    if not (wanted.tokens or wanted.dollars):
        raise argparse.ArgumentTypeError("a budget is dollars, like 0.50, or tokens, like 20000tok")
    return wanted
