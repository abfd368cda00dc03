"""Titles: makes the title of a session from its first message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from studio.domain.messages import File, Message, Said, Text

LONGEST = 60
"""Characters."""
_WORD = re.compile(r"\S+")


def title_of(said: Sequence[Said]) -> str:
    """What a chat is called that begins so."""
    texts = (part.text for part in said if isinstance(part, Text))
    found = (word[0] for text in texts for word in _WORD.finditer(text))
    words = list(islice(found, LONGEST))  # more could not be seen, and there may be millions
    if not words:
        words = [part.name if isinstance(part, File) else "Picture" for part in said]
    title = " ".join(words)
    return title if len(title) <= LONGEST else title[: LONGEST - 1].rsplit(" ", 1)[0] + "…"


def title_from_messages(messages: Sequence[Message]) -> str:
    """The same for a conversation, by its first words; empty where there are none."""
    first = next((one.blocks for one in messages if one.role == "user"), ())
    said = [block for block in first if isinstance(block, Text | File)]
    return title_of(said) if said else ""
