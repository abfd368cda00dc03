"""GGUF: reads what a model file says of its model, by the specification of version 2 and 3.

A large model may be in several parts, ``NAME-00001-of-00003.gguf`` and so on: the first part
says what the model is, and stands for all of them.

Reads the head of the file only, never more than ``_MOST`` bytes of it: a file from the
network may claim anything.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from studio.domain.jsonvalue import Json, JsonObject, as_limit, as_text
from studio.providers.computer_memory import Memory, cache_bytes, fitting_context

MAGIC = b"GGUF"
CONTEXT_CAP = 32_768
"""Tokens: on a processor, reading a longer text takes minutes."""
CONTEXT_UNKNOWN = 8_192
"""Tokens, where the file does not say what its model can read."""

_PART = re.compile(r"-(\d{5})-of-(\d{5})(?=\.gguf$)", re.IGNORECASE)
_MOST_PARTS = 500

_MOST = 64 * 1024 * 1024
_MOST_ENTRIES = 65_536
_LONG_TEXT = 1024 * 1024
_KEPT_VALUES = 1024
"""Values of an array that are kept; a vocabulary is not."""
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?"} | {
    10: "Q",
    11: "q",
    12: "d",
}
_TEXT, _ARRAY = 8, 9


class NotGguf(ValueError):
    """The file is not a GGUF file that can be read; the text says why."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a file says of its model; ``metadata`` is all of it but long arrays."""

    metadata: JsonObject
    size: int
    """Bytes of the file, with all its parts."""

    @property
    def family(self) -> str:
        return as_text(self.metadata.get("general.architecture"))

    @property
    def name(self) -> str:
        return as_text(self.metadata.get("general.name"))

    @property
    def tools(self) -> bool:
        """Whether the model's own chat template tells it of tools."""
        return speaks_of_tools(as_text(self.metadata.get("tokenizer.chat_template")))

    @property
    def chats(self) -> bool:
        """Whether it has a chat template; without one it was not made for conversations."""
        return bool(self.metadata.get("tokenizer.chat_template"))

    @property
    def active_bytes(self) -> int:
        """Bytes of the weights that take part in a token: of many experts only some do."""
        count = as_limit(self.metadata.get(f"{self.family}.expert_count")) or 1
        used = as_limit(self.metadata.get(f"{self.family}.expert_used_count")) or count
        return self.size * min(used, count) // count

    def context(self, memory: Memory | None) -> int:
        """Tokens of context: the model's own window, as far as it fits in memory."""
        window = as_limit(self.metadata.get(f"{self.family}.context_length")) or CONTEXT_UNKNOWN
        each = cache_bytes(self.metadata, self.family)
        return fitting_context(min(window, CONTEXT_CAP), each, self.size, memory)


def parts_of(name: str) -> list[str]:
    """The names of all parts of a model in order, from that of any part; else the name alone."""
    found = _PART.search(name)
    count = int(found[2]) if found else 1
    if not found or not 1 <= int(found[1]) <= count <= _MOST_PARTS:
        return [name]
    before, after = name[: found.start()], name[found.end() :]
    return [f"{before}-{part:05d}-of-{found[2]}{after}" for part in range(1, count + 1)]


def without_part(name: str) -> str:
    """“Big-Q4_K_M.gguf” from “Big-Q4_K_M-00001-of-00003.gguf”."""
    return _PART.sub("", name)


def part_files(file: Path) -> list[Path]:
    """The files of a model, from any of them; they may be missing."""
    return [file.with_name(name) for name in parts_of(file.name)]


def projector_of(file: Path) -> Path:
    """Where what turns pictures into tokens lies beside a model, from its first part."""
    return file.with_suffix(".mmproj")


def speaks_of_tools(template: str) -> bool:
    """Whether a chat template writes the tools that are on offer."""
    return "tools" in template


def read_facts(file: Path) -> ModelFacts:
    """Raises OSError, and NotGguf for what cannot be read. Blocks."""
    with file.open("rb") as opened:
        if opened.read(4) != MAGIC:
            raise NotGguf(f"{file.name} is not a GGUF file")
        reader = _Reader(opened)
        try:
            size = sum(part.stat().st_size for part in part_files(file) if part.exists())
            return ModelFacts(reader.metadata(), size)
        except (struct.error, UnicodeDecodeError, RecursionError) as error:
            raise NotGguf(f"{file.name} is damaged") from error


class _Reader:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def metadata(self) -> JsonObject:
        version = self._number("I")
        if version not in (2, 3):
            raise NotGguf(f"GGUF version {version} is not known")
        self._number("Q")  # tensors
        count = self._number("Q")
        if count > _MOST_ENTRIES:
            raise NotGguf("the file is damaged")
        found: JsonObject = {}
        for _ in range(int(count)):
            name = self._text()
            found[name] = self._value(int(self._number("I")))
        return found

    def _number(self, form: str) -> int | float | bool:
        size = struct.calcsize(form)
        value: int | float | bool = struct.unpack("<" + form, self._bytes(size))[0]
        return value

    def _bytes(self, size: int) -> bytes:
        if size > _LONG_TEXT or self._file.tell() + size > _MOST:
            raise NotGguf("the file is damaged, or its head is too long")
        return self._file.read(size)

    def _text(self) -> str:
        return self._bytes(int(self._number("Q"))).decode("utf-8", "replace")

    def _value(self, kind: int) -> Json:
        if kind == _TEXT:
            return self._text()
        if kind == _ARRAY:
            return self._array()
        if kind not in _NUMBERS:
            raise NotGguf("the file is damaged")
        return self._number(_NUMBERS[kind])

    def _array(self) -> Json:
        """A short one; None for a long one, which is passed over."""
        kind, count = int(self._number("I")), int(self._number("Q"))
        if count > _KEPT_VALUES and kind in _NUMBERS:
            size = count * struct.calcsize(_NUMBERS[kind])
            if self._file.tell() + size > _MOST:
                raise NotGguf("the file is damaged, or its head is too long")
            self._file.seek(size, 1)
            return None
        if count > _MOST // 8:  # each text has its length, in eight bytes
            raise NotGguf("the file is damaged")
        if count > _KEPT_VALUES:
            for _ in range(count):
                self._value(kind)
            return None
        return [self._value(kind) for _ in range(count)]
