"""Import stream: reads large files of conversations piece by piece, and what archives hold.

Of a list of conversations only one is in memory at a time, however long the list is.
"""

from __future__ import annotations

import codecs
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, cast

from studio.agent.attachments import LIMIT, block_of
from studio.domain.errors import StudioError
from studio.domain.jsonvalue import Json
from studio.domain.messages import File, Image

LARGEST = 500_000_000
"""The most characters of one conversation, or of a file that is no list."""
CHUNK = 1 << 20
"""Bytes that are read at a time."""
DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, EOFError, OSError)
"""What a damaged or encrypted archive raises."""
_CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json")
_FILE_ID = re.compile(r"file[-_][A-Za-z0-9]+")
_SPACE = re.compile(r"[ \t\r\n]*")


class JsonReader:
    """Reads JSON from bytes. ValueError says what is wrong with them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._ended = False

    @property
    def is_list(self) -> bool:
        return self._next() == "["

    def whole(self) -> Json:
        """The one value of the file."""
        value = self._value()
        if self._next():
            raise ValueError("it is not JSON (something follows its end)")
        return value

    def items(self) -> Iterator[Json]:
        """The values of the list that the file is."""
        self._at += 1
        if self._next() != "]":
            yield self._value()
            while self._next() == ",":
                self._at += 1
                yield self._value()
        if self._next() != "]":
            raise ValueError("it is not JSON (its list has no end)")
        self._at += 1
        if self._next():
            raise ValueError("it is not JSON (something follows its end)")

    def _next(self) -> str:
        """The next character that is no space, which stays; empty at the end."""
        spaces = 0
        while True:
            found = _SPACE.match(self._text, self._at)
            assert found is not None
            spaces += found.end() - self._at
            self._at = found.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            _bounded(spaces)
            self._more(CHUNK)

    def _value(self) -> Json:
        self._next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.pos > len(self._text) - 16 or error.msg.startswith("Unterminated")
                if self._ended or not cut:
                    raise ValueError(f"it is not JSON ({error.msg})") from error
            except RecursionError as error:
                raise ValueError("it is not JSON (it is nested too deeply)") from error
            else:
                if end < len(self._text) or self._ended:  # a number may go on
                    self._at = end
                    return cast("Json", value)
            held = len(self._text) - self._at
            _bounded(held)
            self._more(max(CHUNK, held))  # twice as much each time, as it is read again

    def _more(self, size: int) -> None:
        data = self._stream.read(size)
        self._ended = not data
        try:
            text = self._decode(data, self._ended)
        except UnicodeDecodeError as error:
            raise ValueError("it is not UTF-8 text") from error
        self._text, self._at = self._text[self._at :] + text, 0


def _bounded(size: int) -> None:
    if size > LARGEST:
        raise ValueError(f"a part of it has more than {LARGEST // 1_000_000:,} MB")


class ImportArchive:
    """The archive that ChatGPT or Claude sends: conversations, and files that were sent."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._files: dict[str, zipfile.ZipInfo] = {}
        self.conversations: list[zipfile.ZipInfo] = []
        self.others: dict[str, None] = {}
        """The names of files that nobody has asked for."""
        for one in archive.infolist():
            name = PurePosixPath(one.filename).name
            if one.is_dir():
                continue
            if _CONVERSATIONS.fullmatch(name):
                self.conversations.append(one)
                continue
            self.others[one.filename] = None
            if found := _FILE_ID.match(name):
                self._files.setdefault(found[0], one)
        self.conversations.sort(key=lambda one: one.filename)

    def file(self, file_id: str, name: str = "") -> Image | File | None:
        """A file that was sent, as a block; None if it is not here or cannot be attached.

        ``file_id`` may be an address such as ``sediment://file_1``.
        """
        found = _FILE_ID.match(file_id.rpartition("/")[2])
        info = self._files.get(found[0]) if found else None
        if info is None:
            return None
        try:
            with self._archive.open(info) as packed:
                data = packed.read(LIMIT + 1)
        except DAMAGE:
            return None
        if len(data) > LIMIT:
            return None
        try:
            block = block_of(name or PurePosixPath(info.filename).name, data)
        except StudioError:
            return None
        self.others.pop(info.filename, None)
        return block
