"""Invocation: fills in the skill, command or prompt that the person calls with ``/name``.

What was typed stays as it is, and the filled-in text goes with it as a file of its own kind, so
that the person can open what the agent was told. Files that the text names after @ are attached.
Commands in it are calls of the agent, which its rules decide about as about any other (K-5,
K-7). A prompt is a server's, whose words are a stranger's (M-21).
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from studio.agent.attachments import attach
from studio.agent.prompts import COMMAND_OUTPUT, DEFINED_ARGUMENTS, INVOKED
from studio.agent.skills import body_of
from studio.domain.errors import ConfigurationError
from studio.domain.extensions import Extension, Extensions
from studio.domain.messages import INVOKED_COMMAND, INVOKED_SKILL, File, Image, Said, Text, ToolCall
from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass
from studio.domain.tools import RUN

AskPrompt: TypeAlias = Callable[[str, str], Awaitable[Sequence[Said]]]
"""Returns what a server's prompt of a name says for the arguments in a text."""
MOST_COMMANDS = 10
MOST_FILES = 20
_CALL = lazy_pattern(r"\s*(?:@(?:\\ |\S)+\s+)?/(\w[\w.:-]*)(?:\s+(.*))?\s*", re.S)
CALLS = lazy_pattern(r"\s*(?:@(?:\\ |\S)+\s+)?/\w")
"""How a message begins that may call something."""
_PART = lazy_pattern(
    r"!`(?P<command>[^`\n]+)`"
    r"|(?<![\w`@])@(?P<file>(?:\\ |[^\s`])+)"
    r"|\$(?:ARGUMENTS\b|(?P<number>[1-9])(?!\d))"
)
_ARGUMENT = lazy_pattern(r"\$(?:ARGUMENTS\b|(?P<number>[1-9])(?!\d))")
_AFTER = ".,;:!?)]}\"'"


@dataclass(frozen=True, slots=True)
class Invocation:
    """A message as it is sent, and the calls with which its turn begins."""

    said: tuple[Said, ...]
    name: str = ""
    calls: tuple[ToolCall, ...] = ()


def called(said: Sequence[Said], extensions: Extensions) -> tuple[Extension, str] | None:
    """What a message calls, with its arguments; None if it is a message like any other."""
    if any(isinstance(part, File) and part.invoked for part in said):
        return None  # one that was filled in before, and is sent again
    text = next((part.text for part in said if isinstance(part, Text)), "")
    found = _CALL.fullmatch(text)
    extension = extensions.get(found[1]) if found else None
    if found is None or extension is None or not extension.for_person:
        return None
    return extension, (found[2] or "").strip()


def mistyped(text: str, names: Collection[str]) -> str:
    """A sentence about a message that begins with ``/name`` and calls nothing; mostly empty.

    ``names`` can be called. A path that is there, and one of several parts, are words like any.
    """
    found = _CALL.fullmatch(text)
    if found is None or found[1] in names or not found[1][0].isalpha():
        return ""
    with suppress(OSError):
        if Path(f"/{found[1]}").exists():
            return ""
    near = get_close_matches(found[1], names)
    hint = f" Did you mean {' or '.join(f'/{one}' for one in near)}?" if near else ""
    return f"There is no command /{found[1]}.{hint}"


async def invoke(
    said: tuple[Said, ...], extensions: Extensions, folder: Path, prompt: AskPrompt
) -> Invocation:
    """The message with what it calls filled in; ``folder`` is the chat's, ``prompt`` fills in one
    of a server.

    Raises ConfigurationError for a command with too many commands in it.
    """
    if (wanted := called(said, extensions)) is None:
        return Invocation(said)
    extension, arguments = wanted
    if extension.kind == "prompt":
        return Invocation((*said, *await prompt(extension.name, arguments)), extension.name)
    filled = _Filled(arguments)
    text = filled.text(extension.body)
    if len(filled.commands) > MOST_COMMANDS:
        raise ConfigurationError(
            f"/{extension.name} runs {len(filled.commands)} commands; {MOST_COMMANDS} is the most."
        )
    if arguments and not filled.used:
        text = DEFINED_ARGUMENTS.format(text=text, arguments=arguments)
    kind = INVOKED_COMMAND
    if extension.kind == "skill":
        text, kind = await body_of(extension, text), INVOKED_SKILL
    whole = INVOKED.format(name=extension.name, text=text)
    name = f"{extension.name.replace(':', '-')}.md"
    files = await _attached(filled.files, folder)
    parts = (*said, File(name, kind, whole.encode("utf-8", "replace")), *files)
    calls = [
        ToolCall(f"call_{uuid.uuid4().hex[:24]}", RUN, {"command": one}) for one in filled.commands
    ]
    return Invocation(parts, extension.name, tuple(calls))


class _Filled:
    """Fills in a text once: what arguments say is never looked at again."""

    def __init__(self, arguments: str) -> None:
        self.used = False
        self.commands: list[str] = []
        self.files: list[str] = []
        self._all = arguments
        self._each = _split(arguments)

    def text(self, body: str) -> str:
        return _PART.sub(self._part, body)

    def _part(self, found: re.Match[str]) -> str:
        if found["command"]:
            command = _ARGUMENT.sub(self._words, found["command"])
            self.commands.append(command)
            return COMMAND_OUTPUT.format(command=command)
        if found["file"]:
            name = _ARGUMENT.sub(self._argument, found["file"])
            self.files.append(name.replace("\\ ", " "))
            return f"@{name}"
        return self._argument(found)

    def _words(self, found: re.Match[str]) -> str:
        """Arguments as words of a shell, which they cannot leave."""
        one = self._argument(found)
        return " ".join(map(_quoted, [one] if found["number"] else self._each))

    def _argument(self, found: re.Match[str]) -> str:
        self.used = True
        if not found["number"]:
            return self._all
        at = int(found["number"]) - 1
        return self._each[at] if at < len(self._each) else ""


def _split(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # a quotation mark without its second
        return arguments.split()


def _quoted(argument: str) -> str:
    """An argument as one word of a shell."""
    return subprocess.list2cmdline([argument]) if sys.platform == "win32" else shlex.quote(argument)


async def _attached(names: Sequence[str], folder: Path) -> list[Image | File]:
    """The files of the folder that a text names; others are words like any."""
    found: list[Image | File] = []
    inside = folder.resolve()
    for name in list(dict.fromkeys(names))[:MOST_FILES]:
        for one in dict.fromkeys((name, name.rstrip(_AFTER))):
            with suppress(OSError, ValueError, RuntimeError, ConfigurationError):
                path = (inside / one).resolve()
                if path.is_relative_to(inside) and path.is_file():
                    found.append(await attach(path))
                    break
    return found
