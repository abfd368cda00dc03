"""Certain answers: what can be said without the model, which would make something up.

A model of 135 million parameters goes on in the pattern of its examples: where a
listing is empty it names files, where a file is missing it quotes one, and when it is
asked to write it says that it has. In these cases the tool's own words are the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

CHANGES_NOTHING = (
    "I am a small model that can list, read and search files. I cannot write or change files or "
    "run commands, and I have changed nothing."
)
NOT_READ = "I have not read {names}, so I cannot say anything about it."

FILE = re.compile(r"(?<![\w./-])[\w./-]*(?<=[\w-])\.[A-Za-z]\w{0,4}\b")
"""The name of a file in a request."""

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
_NOTHING = re.compile(
    r"\[?[^\n]{0,300} is empty\.\]?|No matches\."
    r"|No (?:line|file)[^\n]{0,300} match(?:es)? [^\n]*(?:\n\[[^\n]*\])?"
)
_CHANGE = re.compile(
    r"(?:\b(?:please|can you|could you|now|and|then)\b[\s,]*|^|[.,;!?]\s*)"
    r"(?P<verb>write|create|save|add|append|delete|remove|rename|move|edit|change|replace|fix|update"
    r"|run|execute|install)\b(?P<what>[^.?!]*(?:\.\w[^.?!]*)*)",
    re.IGNORECASE,
)
_INTO = re.compile(rf"(?:^|\b(?:to|in|into|as))\s+{FILE.pattern}")
"""Where something is written; a summary of a file is no change of it."""
_THING = re.compile(
    r"\b(?:files?|folders?|director(?:y|ies)|notes?|commands?|scripts?|tests?|lines?|code"
    r"|programs?)\b",
    re.IGNORECASE,
)


_OF_THIS_FOLDER = re.compile(
    r"\b(?:the|this|these|those|my|our|which|what|any|all|every|each|many)(?:\s+\w+){0,2}?"
    r"\s+(?:files?|folders?|director(?:y|ies)|documents?|notes?|project|repository|code)\b"
    r"|\b(?:welche|wieviele|viele|alle|die|der|das|diese\w*|meine|im|in)(?:\s+\w+){0,2}?"
    r"\s+(?:datei(?:en)?|ordner|verzeichnis(?:se)?|dokumente?|notizen|projekt)\b",
    re.IGNORECASE,
)
"""Words that mean what lies in the folder, and not files in general."""
_OF_THEIRS = re.compile(
    r"\b(?:when|who|where|how (?:much|many|long|often|old))\s+"
    r"(?:is|are|was|were|do|does|did|will|has|have)\s+(?:the|my|our|i|we|it|this|that)\b"
    r"|\bwhat\s+(?:did|do|have|had|should|must)\s+(?:i|we)\b"
    r"|\bwhat(?:\s+is|\s+are|\s+was|\s+were|[’']s)\s+(?:my|our)\b|^\s*(?:please\s+)?summari[sz]e\b"
    r"|\b(?:tell|know|said?|say|read|learn|find out|more|anything|something|what)\b(?:\s+\w+){0,2}?"
    r"\s+about\s+(?:the|my|our|this|that|these|those)\s+\w",
    re.IGNORECASE,
)
"""Questions whose answer only the person's own files can have: “When is the meeting?”

“Tell me about the cats” is one, too: of cats as such nobody speaks so.
"""
_NAME = re.compile(r"\s[A-Z][a-z]{2,}")
"""A name inside a sentence, of which the world knows: “Where is the Nile?”"""
_QUESTION_WORDS = set(
    [
        "what",
        "when",
        "where",
        "much",
        "many",
        "long",
        "often",
        "have",
        "does",
        "will",
        "must",
        "should",
    ]
)
_HOW_TO = re.compile(r"\bhow (?:to|do|can|should|would)\b|\bwie (?:kann|man)\b", re.IGNORECASE)


def asks_about_the_files(ask: str, said: str = "") -> bool:
    """Whether a request is about the files that are here, in English or German.

    A question for something that was spoken of before (``said``) may be answered from that.
    """
    theirs = _OF_THEIRS.search(ask) and not _NAME.search(ask)
    asked = set(_WORD.findall(ask.lower())) - _QUESTION_WORDS
    spoken_of = {word for word in asked if len(word) > 3} & set(_WORD.findall(said.lower()))
    found = _OF_THIS_FOLDER.search(ask) or (theirs and not spoken_of)
    return bool(found) and not _HOW_TO.search(ask)


def asks_for_a_change(ask: str) -> bool:
    """Whether a request is to write, change or run something, and not for a text."""
    for found in _CHANGE.finditer(ask):
        what, writes = found["what"], found["verb"].lower() == "write"
        if _THING.search(what) or (_INTO if writes else FILE).search(what):
            return True
    return False


def nothing_found(result: str) -> str:
    """The words of a tool that failed or found nothing; empty for any other result."""
    text = result.strip()
    if text.startswith("Error:"):
        return text.removeprefix("Error:").strip()
    if text == ". is empty.":
        return "The folder is empty."
    if not _NOTHING.fullmatch(text):
        return ""
    return text[1:-1] if text.startswith("[") else text


def is_founded(answer: str, material: str) -> bool:
    """Whether an answer can be from the material: no other file or number, and half its words."""
    known = set(_WORD.findall(material.lower()))
    words = {word for word in _WORD.findall(answer.lower()) if len(word) > 3}
    names = {name.lower() for name in FILE.findall(answer)} | set(_NUMBER.findall(answer))
    return all(name in material.lower() for name in names) and 2 * len(words & known) >= len(words)


def not_read(names: Sequence[str]) -> str:
    return NOT_READ.format(names=" and ".join(names))
