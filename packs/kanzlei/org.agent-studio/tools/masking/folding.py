"""Folding: makes the spellings of a name the same, and knows where each letter was."""

from __future__ import annotations

import base64
import html
import quopri
import re
import unicodedata
from bisect import bisect_right
from urllib.parse import unquote

from .._patterns import lazy_pattern

_LETTERS = dict(
    zip(
        "äöüßẞæœøıłđðþ’‘ʼ´‐‑–—",
        ["ae", "oe", "ue", "ss", "ss", "ae", "oe", "oe", *"ildd", "th", *"''''----"],
        strict=True,
    )
)
_WORD_OF_HEAD = r"=\?[\w-]{2,20}\?[bB]\?[A-Za-z0-9+/]+=*\?="
_SPECIAL = lazy_pattern(
    r"\\+u[0-9a-fA-F]{4}(?:\\+u03[0-6][0-9a-fA-F])*"  # JSON within JSON
    r"|&#?\w{2,8};"
    r"|(?:%[0-9A-Fa-f]{2})+"
    rf"|{_WORD_OF_HEAD}(?:(?:\s|\\+[nrt])+{_WORD_OF_HEAD})*"  # heads of mail
    r"|(?:=[C-F][0-9A-F](?:=[89AB][0-9A-F]){1,3})+"  # mail as quoted-printable
    r"|(?<=[a-zA-Z])=[C-F][0-9A-F](?![A-Z0-9])"
    r"|=[ \t]*(?:\\+r)?(?:\\+n|\r?\n)(?=[a-zäöüß=])"
    r"|-[ \t]*(?:\\+r)?(?:\\+n|\r?\n)\s*(?=[a-zäöüß])"  # a word that goes on in the next line
    r"|[a-zA-Z][\u0300-\u036f]+"
    r"|[^\x00-\x7f][\u0300-\u036f\u00ad\u200b-\u200d\u2060\ufeff]*"
)


class Folded:
    """A text as it is compared. ``origin`` says which part of the text a part of it was."""

    def __init__(self, text: str) -> None:
        parts: list[str] = []
        self._at: list[int] = []
        """Where each piece begins here, and below where it began and ended in the text."""
        self._from: list[int] = []
        self._whole: list[int] = []
        place, last = 0, 0

        def add(piece: str, begin: int, end: int, *, whole: bool) -> None:
            nonlocal place
            if piece:
                parts.append(piece)
                self._at.append(place)
                self._from.append(begin)
                self._whole.append(end if whole else -1)
                place += len(piece)

        for found in _SPECIAL.finditer(text):
            add(text[last : found.start()].lower(), last, found.start(), whole=False)
            add(_plain(found[0]), found.start(), found.end(), whole=True)
            last = found.end()
        add(text[last:].lower(), last, len(text), whole=False)
        self.text = "".join(parts)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The part of the text that ``self.text[start:end]`` was; not empty."""
        first, last = bisect_right(self._at, start) - 1, bisect_right(self._at, end - 1) - 1
        begin = self._from[first] + (0 if self._whole[first] >= 0 else start - self._at[first])
        whole = self._whole[last]
        return begin, whole if whole >= 0 else self._from[last] + end - self._at[last]


_PLAIN = lazy_pattern(r"[A-Za-z0-9 .,']*")
"""A text in which folding changes no more than capital letters."""


def folded(text: str) -> str:
    return text.lower() if _PLAIN.fullmatch(text) else Folded(text).text


def clean(text: str) -> str:
    """A word as a person writes it: without escapes, and not parted by the end of a line."""

    def decoded(found: re.Match[str]) -> str:
        piece = found[0]
        return "" if piece[0] == "-" and len(piece) > 1 else _decoded(piece)

    return re.sub(r"(?:\\+[nrt])+", " ", _SPECIAL.sub(decoded, text))


def _decoded(piece: str) -> str:
    if piece[0] == "\\":
        units = [int(one, 16) for one in re.findall(r"u([0-9a-fA-F]{4})", piece)]
        return "".join(map(chr, units))
    if piece[0] == "&":
        return html.unescape(piece)
    if piece[0] == "%":
        return unquote(piece, errors="replace")
    return _of_mail(piece) if piece[0] == "=" else piece


def _of_mail(piece: str) -> str:
    """A part of a mail as a person reads it."""
    if piece[1] != "?":  # where a line was broken there is nothing
        data = quopri.decodestring(piece.encode())
        return "" if piece[1] in " \t\\\r\n" else _text_of(data, "utf-8")
    words = [one.split("?") for one in re.findall(_WORD_OF_HEAD, piece)]
    try:  # a letter may begin in one word and end in the next
        data = b"".join(base64.b64decode(one[3]) for one in words)
    except ValueError:
        return piece
    return _text_of(data, words[0][1])


def _text_of(data: bytes, charset: str) -> str:
    for one in (charset, "utf-8"):  # the mail may name another than it is in
        try:
            return data.decode(one)
        except (LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def _plain(piece: str) -> str:
    if piece[0] == "-" and len(piece) > 1:
        return ""
    text = unicodedata.normalize("NFC", _decoded(piece)).lower()
    if text == piece and piece[0] in "&%\\":
        return piece.lower()
    found: list[str] = []
    for letter in text:
        if known := _LETTERS.get(letter):
            found.append(known)
            continue
        for one in unicodedata.normalize("NFKD", letter):
            if not unicodedata.combining(one) and unicodedata.category(one) != "Cf":
                found.append(_LETTERS.get(one, one))
    return "".join(found)
