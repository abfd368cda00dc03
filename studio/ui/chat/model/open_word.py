"""Open word: the mention or the command that is being typed at the caret."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

Sign: TypeAlias = Literal["@", "/"]

LONGEST = 1_000
"""Characters of a line before the caret that are looked at."""
_MENTION = re.compile(r"(?<!\S)@((?:\\ |\S)*)\Z")
_COMMAND = re.compile(r"/([^\s/]*)")
_AFTER = r"(?![^\s.,;:!?)\]}»”’\"'])"
"""What may follow a mention: a blank, or punctuation that is no part of the name."""


class OpenWord(NamedTuple):
    """What was typed after the sign, and as it stands in the text."""

    sign: Sign
    query: str
    typed: str


def open_word(before: str, *, first: bool) -> OpenWord | None:
    """The word at the end of a line up to the caret; a command only begins the ``first`` line."""
    if first and (command := _COMMAND.fullmatch(before)):
        return OpenWord("/", command[1], before)
    if mention := _MENTION.search(before, max(0, len(before) - LONGEST)):
        return OpenWord("@", mention[1].replace("\\ ", " "), mention[0])
    return None


def mention_of(name: str) -> str:
    """A file or folder as it is named in a text, with its blanks escaped."""
    return "@" + name.replace(" ", "\\ ")


def is_mentioned(name: str, text: str) -> bool:
    """Whether a text names this file after @."""
    mention = mention_of(name)
    return mention in text and bool(re.search(rf"(?<!\S){re.escape(mention)}{_AFTER}", text))
