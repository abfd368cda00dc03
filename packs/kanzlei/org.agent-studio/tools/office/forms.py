"""Forms: the text of a draft as heads and a body, which a person may change by hand (KZ-37)."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from studio.packs import ToolFailed

from .. import _german as german


def form(heads: Mapping[str, str], body: str = "") -> str:
    """``Datum: 04.02.2026`` and so on, an empty line, and the body."""
    lines = [f"{name}: {value}".rstrip() for name, value in heads.items()]
    return "\n".join([*lines, "", body.strip()]).strip() + "\n"


def read_form(text: str, names: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """The heads of these names, and the body after the first empty line; raises ToolFailed."""
    head, _, body = text.replace("\r\n", "\n").strip().partition("\n\n")
    found: dict[str, str] = {}
    for line in head.splitlines():
        name, colon, value = line.partition(":")
        if not colon or name.strip() not in names:
            raise ToolFailed(
                f"„{line}“ ist keine Angabe. Oben stehen {', '.join(names)}, je mit Doppelpunkt; "
                "nach einer leeren Zeile folgt der Text."
            )
        found[name.strip()] = value.strip()
    if missing := next((one for one in names if one not in found), ""):
        raise ToolFailed(f"Die Angabe „{missing}:“ fehlt.")
    return found, body.strip()


def read_day(name: str, text: str) -> str:
    """The day of ``04.02.2026`` or ``Mi 04.02.2026`` as ISO; raises ToolFailed."""
    words = text.split()
    try:
        return german.read_day(words[-1] if words else "").isoformat()
    except ValueError as error:
        raise ToolFailed(
            f"{name}: „{text}“ ist kein Tag. Geschrieben wird er 04.02.2026."
        ) from error


def day_words(day: str) -> str:
    """``Mi 04.02.2026`` of an ISO day."""
    return german.day(datetime.date.fromisoformat(day))


def yes(name: str, text: str) -> bool:
    """Whether a head says ja; raises ToolFailed for another word than ja and nein."""
    if text.casefold() not in ("ja", "nein"):
        raise ToolFailed(f"{name}: „{text}“ ist weder ja noch nein.")
    return text.casefold() == "ja"
