"""Order marks: finds in a note what reads like an order, or what nobody sees (W-44).

A mark is a reason to look, and no proof. A note with marks is never kept without the person, and
never told unasked unless it is the person's own.
"""

from __future__ import annotations

import re
from typing import Literal

from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

MOST = 5
_LONGEST = 60

_ORDERS = lazy_pattern(
    r"""
    \b(?:
        (?:you|agents?|assistants?)\s+(?:must|have\s+to|should|shall|may\s+not|need\s+to)
      | always | never | from\s+now\s+on | under\s+no\s+circumstances
      | (?:ignore|disregard|forget|override)\s+(?:all|any|every|the|your|previous|prior|earlier)
      | do\s+not\s+(?:ask|tell|mention|show|warn|inform|reveal|report)
      | don['’]t\s+(?:ask|tell|mention|show|warn|inform|report)
      | without\s+(?:asking|telling|approval|permission|confirmation)
      | (?:system\s+prompt|developer\s+mode|new\s+instructions?|important\s+instructions?)
      | (?:run|execute|fetch|download|install|send|post|upload|forward|delete|allow|approve|trust)
        \s+(?:it|this|that|the|all|any|every|each|everything|whatever|your|a|an|to|https?://)
      | (?:du|sie|ihr|agenten?|der\s+agent|der\s+assistent)
        \s+(?:musst|müssen|müsst|sollst|sollen|darfst|muss|soll)
      | immer | nie(?:mals)? | ab\s+(?:jetzt|sofort)
      | auf\s+keinen\s+fall | unter\s+keinen\s+umständen
      | (?:ignoriere?|missachte|vergiss|überschreibe?)
        \s+(?:alle?|jede|den|die|das|deine?|vorherige|bisherige|frühere)
      | (?:ohne|nicht)\s+(?:zu\s+fragen|nachzufragen|rückfrage|erlaubnis|genehmigung)
      | (?:sag|sage|zeig|zeige|erwähn|erwähne|verrate?)\s+\w+\s+nicht
      | neue\s+anweisung(?:en)? | wichtige\s+anweisung(?:en)?
      | (?:führe?|lade?|installiere?|sende?|schicke?|leite|lösche?|erlaube?|genehmige?|vertraue?)
        \s+(?:es|dies\w*|das|die|den|der|dem|alle?s?|jede\w*|deine?\w*|ein\w*|https?://)
    )\b[^.!?\n;,]{0,40}
    """,
    re.I | re.X,
)
_LINES = re.compile(
    r"^\s*(?:system|assistant|developer|user|human|tool|admin)\s*:\s*\S|<\s*/?\s*(?:system|instructions?|"
    r"important|admin|secret|tool_call|function_call)\b|\[/?inst\]|<\|",
    re.I | re.M,
)
_WAYS = re.compile(
    r"\b(?:curl|wget|nc|scp|ssh|powershell|Invoke-WebRequest|eval|base64\s+-d)\s+[-\"'\w/$:]|\|\s*(?:ba)?sh\b",
    re.I,
)
_HIDDEN = lazy_pattern(
    r"[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0d\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e0fff\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
_OUT_OF_SIGHT = lazy_pattern(
    r"<!--|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|<script\b|javascript:|data:[\w/+.-]*;base64|"
    r"!\[[^\]]*\]\(\s*https?:|\[//\]:\s*#",
    re.I,
)
_ENCODED = re.compile(
    r"(?<![\w/+=-])(?=[\w/+=-]*\d)(?=[\w/+=-]*[A-Z])[\w/+-]{48,}={0,2}(?![\w/+=-])"
)
_FAR_RIGHT = re.compile(r"[ \t\u2000-\u200a\u3000]{40,}\S|\n{12,}\S")


@dataclass(frozen=True, slots=True)
class Mark:
    """What a person should look at; ``words`` are what stands there, in one line."""

    kind: Literal["order", "hidden"]
    words: str


def marks_of(text: str) -> tuple[Mark, ...]:
    """The marks of a text, in their order, at most ``MOST``."""
    plain = _HIDDEN.sub("", text)
    found: list[tuple[int, Mark]] = []
    if hidden := _HIDDEN.search(text):
        found.append((hidden.start(), Mark("hidden", _shown(plain[hidden.start() :]))))
    for pattern in (_OUT_OF_SIGHT, _ENCODED, _FAR_RIGHT):
        if one := pattern.search(plain):
            found.append((one.start(), Mark("hidden", _shown(plain[one.start() :]))))
    for pattern in (_ORDERS, _LINES, _WAYS):
        found += [(one.start(), Mark("order", _shown(one[0]))) for one in pattern.finditer(plain)]
    return tuple(mark for _, mark in sorted(found, key=lambda one: one[0])[:MOST])


def _shown(text: str) -> str:
    line = " ".join(text[: 2 * _LONGEST].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
