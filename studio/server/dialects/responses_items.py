"""The ``input`` of the Responses API as a conversation.

A user's message, a picture, an earlier answer, a call and its output are items
of one list there. Here they are messages: what a model said and called
belongs together, and so do the outputs that answer it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, cast

from studio.domain.messages import Block, File, Image, Message, Said, Text, ToolResult
from studio.providers.attachments import text_of_file
from studio.server.wire import INSTRUCTION_WRAPPER, join_texts

from .enclosed import read_file, read_image
from .fields import Fields
from .offered import parse_call

_Side: TypeAlias = Literal["user", "assistant", "results"]

_ROLES = ("user", "assistant", "system", "developer")
_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""Parts that are words, and the field with the words."""


class ResponsesInput:
    """Takes the items one after the other; each method raises BadRequest.

    ``earlier``: they go on from a stored answer, in which calls may be open.
    """

    def __init__(self, earlier: bool) -> None:
        self._instructions: list[str] = []
        self._sides: list[tuple[_Side, list[Block]]] = []
        self._earlier = earlier
        self._names: dict[str, str] = {}
        """Of the calls so far, by id."""
        self._readers: dict[str, Callable[[Fields], None]] = {
            "message": self._message,
            "function_call": self._call,
            "function_call_output": self._output,
            "reasoning": self._nothing,
            "item_reference": self._reference,
        }

    def told(self) -> tuple[str, tuple[Message, ...]]:
        """The instructions and the conversation; instructions alone are what is said."""
        instructions = join_texts(self._instructions)
        if instructions and not self._sides:
            return "", (Message("user", (_instructed(instructions),)),)
        return instructions, tuple(
            Message("assistant" if side == "assistant" else "user", tuple(blocks))
            for side, blocks in self._sides
        )

    def say(self, text: str) -> None:
        """The whole input, where it is but a text."""
        if text.strip():
            self._sides.append(("user", [Text(text)]))

    def take(self, item: Fields) -> None:
        kind = item.text("type")
        if not kind:  # the short form of a message, and that of a reference
            kind = "message" if item.get("role") is not None else "item_reference"
        reader = self._readers.get(kind)
        if reader is None:
            raise item.refused("type", f"Items of type “{kind}” are not known here.")
        reader(item)

    def _message(self, item: Fields) -> None:
        role = item.one_of("role", _ROLES)
        said = _content(item, "content")
        match role:
            case "user":
                if said:
                    self._sides.append(("user", [*said]))
            case "assistant":
                self._add("assistant", _words(item, said))
            case "system" | "developer":
                self._instruct(_words(item, said))
            case _:
                item.needed("role")

    def _instruct(self, words: Sequence[Text]) -> None:
        text = join_texts([part.text for part in words])
        if text and not self._sides and not self._earlier:
            self._instructions.append(text)
        elif text:
            self._sides.append(("user", [_instructed(text)]))

    def _call(self, item: Fields) -> None:
        call_id, name = item.needed("call_id"), item.needed("name")
        self._names[call_id] = name
        self._add("assistant", [parse_call(call_id, name, item.text("arguments"))])

    def _output(self, item: Fields) -> None:
        """Whoever knows the earlier answer knows the names of its calls."""
        call_id = item.needed("call_id")
        name = self._names.get(call_id, "")
        if not name and not self._earlier:
            why = f"“{item.at}” is the output of call {call_id}, but no such call comes before it."
            raise item.refused("call_id", why, "invalid_value")
        content = [_shown(item, part) for part in _content(item, "output")]
        self._add("results", [ToolResult(call_id, name, tuple(content))])

    def _nothing(self, item: Fields) -> None:
        """What a model thought stays with whoever ran it."""

    def _reference(self, item: Fields) -> None:
        raise item.refused(
            "type",
            "Items cannot be referred to by their ids here. Send the items themselves,"
            " or go on from an answer with “previous_response_id”.",
        )

    def _add(self, side: _Side, blocks: Sequence[Block]) -> None:
        """To what is there, where it is of the same side: one reply, one batch of outputs."""
        if blocks and self._sides and self._sides[-1][0] == side:
            self._sides[-1][1].extend(blocks)
        elif blocks:
            self._sides.append((side, [*blocks]))


def _instructed(text: str) -> Text:
    return Text(INSTRUCTION_WRAPPER.format(text=text))


def _content(item: Fields, name: str) -> list[Said]:
    """A text, or a list of parts; parts without words are left out."""
    value = item.get(name)
    if value is None:
        raise item.wrong(name, "a text or a list of parts")
    if isinstance(value, str):
        text = item.text(name)
        return [Text(text)] if text.strip() else []
    parts = [_part(part) for part in item.objects(name)]
    return [part for part in parts if not isinstance(part, Text) or part.text.strip()]


def _part(part: Fields) -> Said:
    kind = part.needed("type")
    if (field := _TEXTS.get(kind)) is not None:
        return Text(part.text(field))
    match kind:
        case "input_image":
            _send_the_data(part, ("file_id",), "image_url")
            return read_image(part, "image_url")
        case "input_file":
            _send_the_data(part, ("file_id", "file_url"), "file_data")
            return read_file(part, "file_data", part.text("filename"))
        case _:
            raise part.refused("type", f"Content of type “{kind}” is not known here.")


def _send_the_data(part: Fields, elsewhere: Sequence[str], here: str) -> None:
    for name in elsewhere:
        if part.get(name) is not None and part.get(here) is None:
            why = f"“{part.place(name)}”: this server fetches and keeps no files."
            raise part.refused(name, f"{why} Send the data in “{here}”.")


def _words(item: Fields, said: Sequence[Said]) -> list[Text]:
    if any(not isinstance(part, Text) for part in said):
        raise item.wrong("content", f"text for the role {item.text('role')}")
    return [part for part in cast("Sequence[Text]", said)]


def _shown(item: Fields, part: Said) -> Text | Image:
    """A tool's output takes text and pictures, and files whose text can be read."""
    if not isinstance(part, File):
        return part
    if (text := text_of_file(part)) is None:
        raise item.wrong("output", "text, pictures and text files")
    return Text(text)
