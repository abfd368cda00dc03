"""Mails: the words of an e-mail (KZ-12)."""

from __future__ import annotations

import email
import email.message
import email.policy
from typing import cast

from studio.packs import ToolFailed

from .html_text import html_words

_HEAD = 2_000
"""Characters of a head of an e-mail that are read."""
_PARTS = 1_000
"""Parts of an e-mail, also one in the other; reading ten times as many takes minutes."""


class _ShortHeads(email.policy.EmailPolicy):
    """Reads the beginning of each head: the time for a whole one grows with its square."""

    def header_fetch_parse(self, name: str, value: str) -> object:
        return super().header_fetch_parse(name, value[:_HEAD])


def mail_words(data: bytes) -> str:
    """The heads that a person reads, the body, and the names of what is attached."""
    if data.count(b"\n--") > _PARTS:
        raise ToolFailed(f"Die E-Mail hat mehr als {_PARTS} Teile und wurde nicht gelesen.")
    read = email.message_from_bytes(data, policy=_ShortHeads())
    message = cast("email.message.EmailMessage", read)
    heads = [_head(message, name) for name in ("From", "To", "Date", "Subject")]
    body = message.get_body(("plain", "html"))
    text = str(body.get_content()) if body is not None else ""
    if body is not None and body.get_content_subtype() == "html":
        text = html_words(text)
    attached = [f"Anhang: {one.get_filename() or '?'}" for one in message.iter_attachments()]
    return "\n".join([*filter(None, heads), "", text.strip(), "", *attached]).strip()


def _head(message: email.message.EmailMessage, name: str) -> str:
    """A head as a line; empty for one that is not there."""
    try:
        value = message[name]
    except Exception:  # a broken head takes no text away
        return f"{name}: (nicht lesbar)"
    return f"{name}: {value}" if value else ""
