"""The answer of a turn by itself: collected, checked, printed whole or put into a file."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import cast

from studio.agent.loop.structured_output import parse_answer
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    Event,
    StepStarted,
    TextDelta,
    ToolQueued,
    TurnStarted,
)
from studio.domain.jsonvalue import JsonObject
from studio.files.atomic_write import write_atomically
from studio.tools.sdk.argument_check import is_schema

from .console import Console

STDOUT = Path("-")


class FinalAnswer:
    """Collects the text after the last tool call; with a ``schema``, the JSON of the last step.

    ``code``: of the answer only the first block of code is written.
    """

    def __init__(self, schema: JsonObject | None, *, code: bool = False) -> None:
        self._schema = schema
        self._code = code
        self._parts: list[str] = []

    def event(self, event: Event) -> None:
        match event:
            case TurnStarted() | ToolQueued():
                self._parts.clear()
            case StepStarted():
                if self._schema is not None:  # an answer that did not fit is asked for again
                    self._parts.clear()
            case TextDelta():
                self._parts.append(event.text)
            case _:
                pass

    @property
    def text(self) -> str:
        return "".join(self._parts).strip()

    async def write(self, console: Console, path: Path | None) -> None:
        """Print the answer or write it to a file; raises ConfigurationError if that fails."""
        text, schema = self.text, self._schema
        if schema is not None:
            try:
                value = await asyncio.to_thread(parse_answer, text, schema)
            except ValueError as error:  # the turn ended before the answer was complete
                console.say(f"There is no answer that fits the schema: {error}.")
                return
            if path in (None, STDOUT):
                console.write_json(value)
                return
            text = json.dumps(value, ensure_ascii=False)
        elif self._code and text:
            code = first_code(text)
            if code is None:
                console.say("There is no block of code in the answer. This is all of it.")
            else:
                text = code
        if not text:
            console.say("There is no answer.")
        elif path is None or path == STDOUT:
            console.write(f"{text}\n")
        else:
            await asyncio.to_thread(write_answer, f"{text}\n", path)


def first_code(text: str) -> str | None:
    """The first block of code in markdown, without its fences and indentation; None for none.

    A block whose end is missing reaches to the end of the text.
    """
    found = _FENCED.search(text)
    if found is None:
        return None
    code = found["code"].replace("\r\n", "\n").removesuffix("\n")
    indent, lines = len(found["indent"]), code.split("\n")
    return "\n".join(line[min(indent, len(line) - len(line.lstrip())) :] for line in lines)


_FENCED = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[^\n`]*\n"
    r"(?P<code>.*?)(?:^[ \t]*(?P=fence)[`~]*\s*$|\Z)",
    re.M | re.S,
)


def read_schema(text: str) -> JsonObject:
    """Read a JSON schema, given as text or as a file; raises ConfigurationError."""
    if not text.lstrip().startswith("{"):
        try:
            text = Path(text).read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ConfigurationError(f"The schema {text} cannot be read: {why}.") from error
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"The schema is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ConfigurationError('A JSON schema is an object, like {"type": "object"}.')
    schema = cast("JsonObject", found)
    if not is_schema(schema):
        raise ConfigurationError(
            "The schema is no JSON schema, so no answer can be checked against it."
        )
    return schema


def check_output_path(path: Path) -> None:
    """Raises ConfigurationError if no file can be written there; called before any request."""
    if path == STDOUT:
        return
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder. Name a file for the answer.")
    if not path.parent.is_dir():
        raise ConfigurationError(f"The folder {path.parent} is not there.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigurationError(f"{path} cannot be written.")


def write_answer(text: str, path: Path) -> None:
    """Write the answer to a file, whole or not at all; raises ConfigurationError.

    A pipe or a device is written to directly.
    """
    data = text.encode("utf-8", "replace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        mode = path.stat().st_mode if path.exists() else None
        write_atomically(path, data)
        if mode is not None:
            path.chmod(mode)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror or error})."
        ) from error
