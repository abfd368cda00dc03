"""Links to places of the program: ``agent-studio://chat/…``, ``…/new?text=…``, ``…/settings/…``,
``…/source?at=…``.

A link comes from outside: from a web page, a message, another program. It is read strictly,
it can only show something, and nothing of it is carried out. ``block`` is the place of a
block in the transcript, from 0; blocks never move, so such a link holds as long as the chat.
"""

from __future__ import annotations

import re
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

from studio.domain.pack_addresses import pack_of
from studio.domain.records import dataclass

SCHEME = "agent-studio"
LONGEST = 16 * 1024
"""Characters of a link; a longer one leads nowhere."""
LONGEST_TEXT = 4_000
"""Characters of a text for a new chat; the rest is left out."""
_ID = re.compile(r"/([0-9A-Za-z_-]{1,64})")
_PAGE = re.compile(r"/([a-z-]{1,32})/?")
_BLOCK = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class ChatLink:
    """A chat, and perhaps a block in it."""

    chat: str
    block: int | None = None

    def __str__(self) -> str:
        return f"{SCHEME}://chat/{self.chat}" + ("" if self.block is None else f"#{self.block}")


@dataclass(frozen=True, slots=True)
class NewChatLink:
    """A new chat, and a stranger's text that the person may put into it."""

    text: str


@dataclass(frozen=True, slots=True)
class SettingsLink:
    """A page of the settings; it may be one that is not there."""

    page: str


@dataclass(frozen=True, slots=True)
class SourceLink:
    """A thing of a pack, by its address (KZ-8)."""

    address: str


Link: TypeAlias = ChatLink | NewChatLink | SettingsLink | SourceLink


def is_link(word: str) -> bool:
    """Whether a word on the command line is a link to this program, sound or not."""
    return word[: len(SCHEME) + 1].lower() == f"{SCHEME}:"


def read_link(text: str) -> Link | None:
    """What a link leads to; None if it is none of the program's, or nothing that it writes."""
    if len(text) > LONGEST or not text.isprintable():
        return None
    try:
        parts = urlsplit(text)
        if parts.scheme != SCHEME:
            return None
        given = parse_qs(parts.query, max_num_fields=4)
    except ValueError:
        return None
    match parts.netloc:
        case "chat" if (found := _ID.fullmatch(parts.path)) and not given:
            if not parts.fragment:
                return ChatLink(found[1])
            if _BLOCK.fullmatch(parts.fragment):
                return ChatLink(found[1], int(parts.fragment))
        case "new" if parts.path in ("", "/") and given.keys() <= {"text"}:
            return NewChatLink(_plain("\n".join(given.get("text", ()))))
        case "source" if parts.path in ("", "/") and given.keys() == {"at"}:
            (address, *more) = given["at"]
            return SourceLink(address) if pack_of(address) and not more else None
        case "settings" if parts.path in ("", "/"):
            return SettingsLink("general")
        case "settings" if found := _PAGE.fullmatch(parts.path):
            return SettingsLink(found[1])
        case _:
            pass
    return None


def _plain(text: str) -> str:
    """A stranger's text without what nobody sees, cut where it is too long."""
    from studio.agent.permission.invisible_characters import CONTROLS, UNSEEN

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.translate(dict.fromkeys(CONTROLS | UNSEEN))[:LONGEST_TEXT].strip()
