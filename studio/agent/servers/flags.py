"""Server flags: finds in the words of a server's tool what a person should look at (M-15).

What is found is shown and decides nothing: rules and questions do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from studio.agent.look_alikes import mixes_alphabets, skeleton
from studio.agent.permission.invisible_characters import UNSEEN
from studio.domain.patterns import lazy_pattern
from studio.mcp.lists import ServerTool

_HIDDEN = frozenset(map(chr, UNSEEN)) - {"\ufeff"}
_ORDERS = lazy_pattern(
    r"<(?:important|system|instructions?|secret|hidden)>"
    r"|\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|other|all)\b"
    r".{0,40}\b(?:instruction|prompt|rule|tool)"
    r"|\b(?:do not|don.t|never|without)\b.{0,20}\b(?:tell|mention|inform|notify|show|ask)(?:ing)?\b"
    r".{0,20}\b(?:user|person|human|anyone)"
    r"|\b(?:before|after|when(?:ever)?|instead of)\b.{0,30}\b(?:using|calling|any|other)\b"
    r".{0,30}\btool.{0,80}\b(?:must|always|first|read|send|call)\b"
    r"|~/\.(?:ssh|aws|gnupg|netrc|config)|\bid_rsa\b|/etc/passwd|\bmcp\.json\b|\.env\b"
    r"|\b(?:base64|exfiltrat|side ?channel)",
    re.I | re.S,
)
"""Words that are for a model and not about a tool."""


def flags_of(tool: ServerTool, others: Collection[str]) -> tuple[str, ...]:
    """What is odd about a tool, in sentences; ``others`` are the names of tools from elsewhere."""
    words = " ".join((tool.name, tool.title, tool.description, json.dumps(tool.schema)))
    plain = " ".join((tool.name, tool.title, tool.description, _texts(tool.schema)))
    found: list[str] = []
    if _HIDDEN & set(plain):
        found.append("It has hidden characters.")
    if order := _ORDERS.search(words):
        found.append(f"It gives orders to the model: “{' '.join(order[0].split())[:80]}”.")
    alike = skeleton(tool.name)
    for other in sorted(others):
        if other == tool.name or skeleton(other) == alike:
            found.append(f"Its name is like that of {other}.")
            break
    if mixes_alphabets(tool.name):
        found.append("Its name mixes alphabets that look alike.")
    return tuple(found)


def _texts(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
