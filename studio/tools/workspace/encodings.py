"""Encodings: tells a text file's encoding by its bytes, and gives every byte back on writing.

UTF-8 and UTF-16 with and without a byte order mark, Shift-JIS, Windows-1252, Latin-1. A file
that is UTF-8 but for a few bytes stays UTF-8: each of those bytes is one character of a private
range.
"""

from __future__ import annotations

import codecs
import unicodedata

from studio.domain.drafts import BINARY
from studio.domain.errors import ToolFailed
from studio.tools.sdk.result import size

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; these names of encodings, which drafts are stored with, include the mark."""
_UNMARKED = {
    "utf-16-le-unmarked": "utf-16-le",
    "utf-16-be-unmarked": "utf-16-be",
    BINARY: "latin-1",
}
_DAMAGED = "utf-8-damaged"
_TITLES = {
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
    "cp932": "Shift-JIS",
    _DAMAGED: "UTF-8 with bytes that are not UTF-8",
}
"""Encodings that a reader has to know of: not every character can be written in them."""
_CONTROLS = frozenset(b"\t\n\v\f\r\b\x1b\x1a")
"""Control characters in texts, including terminals' escape and DOS's end of file."""
_BINARY = bytes(code for code in range(32) if code not in _CONTROLS)
_ODD_CATEGORIES = ("Cn", "Co", "Cs")
_PRIVATE = 0xF700
"""Added to a byte from 0x80 on that is not UTF-8."""
_SOUND = 4
"""So many times more characters in UTF-8 than bytes that are not make a text UTF-8."""
LENIENT = "studio-lenient"
"""The error handler for texts that are only shown: a byte that is not UTF-8 is Windows-1252."""


class NotText(ToolFailed):
    """The file is no text, or in an encoding that this program does not read."""


def binary(name: str, length: int) -> NotText:
    """The error for a file that is not text; ``length`` is in bytes."""
    return NotText(f"{name} is a binary file ({size(length)}).")


def encoding_of(data: bytes, *, whole: bool = True) -> str | None:
    """The encoding of a file's bytes, None for a binary file.

    ``whole`` is False for the beginning of a file, which may end inside a character.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark) and _decodes(data[len(mark) :], encoding, whole=whole):
            return encoding
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    if b"\0" in data:
        return _unmarked_utf16(data, whole=whole)
    if _decodes(data, "utf-8", whole=whole):
        return "utf-8"
    if len(data.translate(None, _BINARY)) != len(data):
        return None
    if _is_damaged_utf8(data):
        return _DAMAGED
    if _is_shift_jis(data, whole=whole):
        return "cp932"
    return "cp1252" if _decodes(data, "cp1252", whole=whole) else "latin-1"


def title_of(encoding: str) -> str:
    """The name of an encoding that does not have every character, else ""."""
    return _TITLES.get(encoding, "")


def stream_codec(encoding: str) -> tuple[str, int]:
    """Python's codec for reading a file piece by piece, and the bytes of the mark to skip."""
    mark = next((mark for mark, name in _MARKS if name == encoding), b"")
    if encoding in ("utf-8-sig", _DAMAGED):
        return "utf-8", len(mark)
    return _UNMARKED.get(encoding, encoding), len(mark)


def decode(data: bytes, name: str) -> tuple[str, str]:
    """A file's text and encoding, for which ``encode`` gives the same bytes; raises NotText."""
    encoding = encoding_of(data)
    if encoding is None:
        raise binary(name, len(data))
    codec, skipped = stream_codec(encoding)
    if encoding != _DAMAGED:
        return data[skipped:].decode(codec), encoding
    text = data.decode(codec, "surrogateescape")
    return text.translate({0xDC00 + byte: _PRIVATE + byte for byte in range(0x80, 0x100)}), encoding


def encode(text: str, encoding: str) -> bytes:
    """The bytes of a file with this text; ToolFailed if the encoding lacks a character."""
    mark = next((mark for mark, name in _MARKS if name == encoding), b"")
    codec, _ = stream_codec(encoding)
    try:
        if encoding == _DAMAGED:
            text.encode("utf-8")  # a surrogate of its own is an error here as well
            bytes_of = {_PRIVATE + byte: 0xDC00 + byte for byte in range(0x80, 0x100)}
            return text.translate(bytes_of).encode(codec, "surrogateescape")
        return mark + text.encode(codec)
    except UnicodeEncodeError as error:
        char = text[error.start]
        if "\ud800" <= char <= "\udfff":
            raise ToolFailed(
                f"The text holds half a character at position {error.start} and cannot be written."
            ) from None
        shown = f"“{char}” (U+{ord(char):04X})" if char.isprintable() else f"U+{ord(char):04X}"
        raise ToolFailed(
            f"The file is in {title_of(encoding)}, which has no {shown}. "
            "Write it with other characters; nothing was changed."
        ) from None


def _decodes(data: bytes, codec: str, *, whole: bool) -> bool:
    codec = "utf-8" if codec == "utf-8-sig" else codec
    try:
        text = codecs.getincrementaldecoder(codec)().decode(data, final=whole)
    except UnicodeDecodeError:
        return False
    return "\0" not in text


def _unmarked_utf16(data: bytes, *, whole: bool) -> str | None:
    """UTF-16 by its zero bytes, which are the upper halves of Latin letters and blanks.

    Two letters are too few to tell it from other data.
    """
    if len(data) < 6:
        return None
    upper, lower = data[0::2].count(0), data[1::2].count(0)
    codec = "utf-16-be" if upper > lower else "utf-16-le"
    decoder = codecs.getincrementaldecoder(codec)()
    try:
        letters = set(decoder.decode(data, final=whole))
    except UnicodeDecodeError:
        return None
    if any(_is_odd(letter) for letter in letters):
        return None
    return f"{codec}-unmarked"


def _is_odd(letter: str) -> bool:
    """Whether a character is in no text, but is what other data look like as UTF-16."""
    if ord(letter) < 32:
        return ord(letter) not in _CONTROLS
    return unicodedata.category(letter) in _ODD_CATEGORIES or "\x7f" <= letter <= "\x9f"


def _is_damaged_utf8(data: bytes) -> bool:
    text = data.decode("utf-8", "surrogateescape")
    others = text.translate(dict.fromkeys(range(0x80)))
    private = sum(_PRIVATE + 0x80 <= ord(char) < _PRIVATE + 0x100 for char in others)
    bad = sum("\udc80" <= char <= "\udcff" for char in others)
    return not private and len(others) - bad > _SOUND * bad


def _is_shift_jis(data: bytes, *, whole: bool) -> bool:
    """Whether bytes are Japanese: what is in no other text is the number of its kana.

    Accents of western letters, read so, are rare characters of other kinds.
    """
    try:
        text = codecs.getincrementaldecoder("cp932")().decode(data, final=whole)
        if whole and text.encode("cp932") != data:  # a few characters have two codes
            return False
    except UnicodeError:
        return False
    others = text.translate(dict.fromkeys(range(0x80)))
    kana = sum("\u3041" <= char <= "\u30fc" for char in others)
    narrow = sum("\uff61" <= char <= "\uff9f" for char in others)
    return kana > 1 and kana * 5 > len(others) and kana > narrow


def _lenient(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    if error.encoding.startswith("utf-16"):
        return "\N{REPLACEMENT CHARACTER}", error.end
    return "".join(map(_western, wrong)), error.end


def _western(byte: int) -> str:
    try:
        return bytes([byte]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


codecs.register_error(LENIENT, _lenient)
