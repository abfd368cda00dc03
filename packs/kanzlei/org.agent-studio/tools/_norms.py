"""Norms: makes the addresses of norms that a text names, ``kanzlei:norm/ZPO/520/2`` (KZ-8).

Numbers of the schedules are norms too: ``kanzlei:norm/RVG/VV-3100``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_REFERENCE = re.compile(r"§§?\s*([^§;]*?)\s+(?![IVX]+\b)([A-ZÄÖÜ][A-Za-zÄÖÜäöü]*[A-Z])\b")
_ONE = re.compile(r"(\d+[a-z]?)(?:\s+([IVX]+))?")
_NUMBER = re.compile(r"\b(VV|KV) (\d{4})\b")
_LAWS = {"VV": "RVG", "KV": "GKG"}
_ROMAN = {"I": 1, "V": 5, "X": 10}


def addresses(texts: Iterable[str]) -> tuple[str, ...]:
    """The address of each norm that the texts name, once each, in their order."""
    return tuple(dict.fromkeys(one for text in texts for one in _addresses(text)))


def _addresses(text: str) -> Iterator[str]:
    for places, law in _REFERENCE.findall(text):
        section = ""
        for part in re.split(r",\s*", places):
            found = _ONE.match(part)
            if found:
                section = found[1]
                paragraph = f"/{_number(found[2])}" if found[2] else ""
                yield f"kanzlei:norm/{law}/{section}{paragraph}"
            elif section and (further := re.match(r"[IVX]+", part)):
                yield f"kanzlei:norm/{law}/{section}/{_number(further[0])}"

    for schedule, number in _NUMBER.findall(text):
        yield f"kanzlei:norm/{_LAWS[schedule]}/{schedule}-{number}"


def _number(roman: str) -> int:
    values = [_ROMAN[letter] for letter in roman]
    return sum(
        -value if value < max(values[index:]) else value for index, value in enumerate(values)
    )


_ADDRESS = re.compile(r"kanzlei:norm/([A-Za-zÄÖÜäöü]+)/(?:(VV|KV)-(\d{4})|(\d+[a-z]?)(?:/(\d+))?)")


def title_of(address: str) -> str:
    """``§ 520 II ZPO`` of ``kanzlei:norm/ZPO/520/2``; empty for what is no address of a norm."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return ""
    law, schedule, number, section, paragraph = found.groups()
    if schedule:
        return f"{schedule} {number} {law}"
    return f"§ {section} {_roman(int(paragraph))} {law}" if paragraph else f"§ {section} {law}"


def _roman(number: int) -> str:
    text = ""
    for value, letters in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        text += letters * (number // value)
        number %= value
    return text
