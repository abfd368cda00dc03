"""Housekeeping: recognises what clients ask for themselves, and no person said.

Chat programs have titles, tags, follow-up questions and search words made after an answer, and
editors have summaries and commit messages made. Each looks like a conversation of its own, or like
one more message of the person's. Such a request is answered, and its chat is not kept. Clients
do not mark them, so their words are looked at; a person's message that is taken for one is
answered all the same.
"""

from __future__ import annotations

import re

from studio.domain.messages import Text

from .contract import ApiRequest

LOOKED_AT = 600
"""Characters at the beginning of a text that say what it is for."""


def _pattern(*parts: str) -> re.Pattern[str]:
    """The parts in this order, each within a sentence or two of the one before."""
    return re.compile(".{0,160}?".join(parts), re.I | re.S)


_MAKE = (
    r"^\W*(?:[\w,]+\s+){0,12}?"
    r"(?:generate|write|create|provide|suggest|give|find|come\s+up\s+with|produce|propose)\b"
)
_THING = r"\b(?:title|tags?|keywords|emoji|follow-?\s?up\s+(?:questions?|prompts?))\b"
_WHOLE = (
    r"\b(?:this|the|our|a|following)\s+(?:\w+\s+){0,2}"
    r"(?:conversation|chat|thread|dialogue|discussion|session|exchange)s?\b(?!\s+(?:about|on)\b)"
)
_SUMMARY = _pattern(r"^\W*briefly\W+summari[sz]e\W+this\s+(?:partial\s+)?conversation\b")
_ASKED = (_pattern(_MAKE, _THING, _WHOLE), _SUMMARY)
"""How the last message begins where it asks for something about the conversation."""
_TASK = re.compile(r"^\s*#{2,4}\s*Task:", re.I)
_TASK_PARTS = ("<chat_history>", "### output", "### chat history", "<type>", "### guidelines")
_INSTRUCTED = (
    _pattern(r"\byou\s+are\s+an?\b", r"\b(?:title|tag)\s+(?:generator|writer)\b"),
    _pattern(r"\b(?:generates?|writes?)\b", r"\bcommit\s+messages?\b", r"\bdiffs?\b"),
    _pattern(r"\b(?:conversation|chat|thread)\s+title\b", r"\b(?:words|characters|json)\b"),
    _pattern(r"\bindicates\s+a\s+new\s+conversation\s+topic\b"),
    _pattern(_MAKE, r"\btitle\b", _WHOLE),
    _SUMMARY,
)
"""What instructions say where their only message is material."""


def is_housekeeping(request: ApiRequest) -> bool:
    """Whether a client asks for itself; one that offers tools has work for its person."""
    if request.tools or request.previous or not request.messages:
        return False
    last = request.messages[-1]
    if last.role != "user":
        return False
    said = next((one.text for one in last.blocks if isinstance(one, Text)), "")
    head = said[:LOOKED_AT]
    if _TASK.match(head) and any(part in said.lower() for part in _TASK_PARTS):
        return True
    if any(one.search(head) for one in _ASKED):
        return True
    instructions = request.instructions[:LOOKED_AT]
    alone = bool(instructions) and all(one.role == "user" for one in request.messages)
    return alone and any(one.search(instructions) for one in _INSTRUCTED)
