"""Openlegaldata: takes one decision from the JSON of de.openlegaldata.io (KZ-27, KZ-28).

It collects decisions of federal and other courts, and is no official site: what it has can be
incomplete or older than elsewhere. It is asked without a key, for one decision by its Aktenzeichen
or ECLI, never for all that it has: unknown readers may ask 100 times a day. What it sends
is a stranger's: it has a limit and fetches nothing.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import cast
from urllib.parse import urlencode

from studio.packs import ToolFailed

from .._patterns import lazy_pattern
from .decisions import Cited, decisions
from .fetching import OPEN_HOST, fetched
from .judgment import Judgment, Paragraph
from .normen import Imported
from .urteile import Urteile, az_key

CASES = f"https://{OPEN_HOST}/api/cases/"
_MOST = 20
"""Decisions of one Aktenzeichen; courts of the Länder share them."""
_LONGEST = 5_000_000
"""Characters of one decision; the longest have some 1,000,000."""
_FIELD = 300
_UNKNOWN = "Gericht unbekannt"
_ALONE = {
    "Bundesverfassungsgericht": "BVerfG",
    "Bundesgerichtshof": "BGH",
    "Bundesarbeitsgericht": "BAG",
    "Bundessozialgericht": "BSG",
    "Bundesfinanzhof": "BFH",
    "Bundesverwaltungsgericht": "BVerwG",
    "Bundespatentgericht": "BPatG",
    "Europäischer Gerichtshof": "EuGH",
    "Bayerisches Oberstes Landesgericht": "BayObLG",
    "Kammergericht": "KG",
}
"""Courts whose place nobody names."""
_KINDS = {
    "Oberlandesgericht": "OLG",
    "Landesarbeitsgericht": "LAG",
    "Landessozialgericht": "LSG",
    "Landgericht": "LG",
    "Amtsgericht": "AG",
    "Arbeitsgericht": "ArbG",
    "Sozialgericht": "SG",
    "Finanzgericht": "FG",
    "Oberverwaltungsgericht": "OVG",
    "Verwaltungsgerichtshof": "VGH",
    "Verwaltungsgericht": "VG",
}
_ECLI = lazy_pattern(r"ECLI:DE:[A-Z0-9]{1,7}:\d{4}:[A-Z0-9.]{1,25}")
_LINES = frozenset({"p", "br", "dt", "dd", "tr", "li", "div"})
_HEADINGS = frozenset({"h1", "h2", "h3"})
_WITHOUT = frozenset({"script", "style"})


def load(
    store: Urteile, words: str, cases: str = CASES, hosts: Sequence[str] = (OPEN_HOST,)
) -> Imported:
    """Import the one decision that words name, as “OLG Köln, 04.05.2022, 7 U 12/21”. Blocks; raises
    ToolFailed."""
    cited = _cited(words)
    key = "ecli" if cited.key.startswith("ECLI:") else "file_number"
    query = urlencode({key: cited.key, "page_size": _MOST})
    rows = _rows(fetched(f"{cases}?{query}", _json, hosts))
    found = [one for one in rows if _is_cited(one, cited)]
    if not found:
        others = f" Dort gibt es: {_names(rows)}" if rows else ""
        raise ToolFailed(f"„{words.strip()}“ hat {OPEN_HOST} nicht.{others}")
    if len(found) > 1:
        raise ToolFailed(
            f"Das sind {len(found)} Entscheidungen, nenne auch Gericht und Tag: {_names(found)}"
        )
    number = found[0].get("id")
    if not isinstance(number, int):
        raise ToolFailed(f"{OPEN_HOST} nennt zu dieser Entscheidung keine Nummer.")
    return store.keep(_judgment(fetched(f"{cases}{number}/", _json, hosts)))


def _cited(words: str) -> Cited:
    """What words name; raises ToolFailed where that is no decision."""
    words = " ".join(words.split())
    named = decisions(words)
    if len(named) == 1 and named[0].key:
        return named[0]
    if named or not re.search(r"\d", words) or not re.fullmatch(r"[\w ()./:-]{3,60}", words):
        raise ToolFailed("Nenne eine Entscheidung: OLG Köln, 04.05.2022, 7 U 12/21.")
    return Cited(words, key=words)


def _is_cited(row: dict[str, object], cited: Cited) -> bool:
    """Whether it is the one: where it knows no such question, the site sends others."""
    day, ecli = _day(row, "date"), cited.key.startswith("ECLI:")
    if az_key(_text(row, "ecli" if ecli else "file_number")) != az_key(cited.key):
        return False
    court = _court(row).casefold()
    same = not cited.court or court in (cited.court.casefold(), _UNKNOWN.casefold())
    return same and bool(day) and cited.day in (None, day)


def _names(rows: Sequence[dict[str, object]]) -> str:
    return "; ".join(
        f"{_court(one)}, {day:%d.%m.%Y}, {_text(one, 'file_number')}"
        for one in rows
        if (day := _day(one, "date"))
    )


def _json(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ToolFailed(f"{OPEN_HOST} hat nichts Lesbares gesendet.") from error
    if not isinstance(found, dict):
        raise ToolFailed(f"{OPEN_HOST} hat etwas anderes gesendet als eine Entscheidung.")
    return cast("dict[str, object]", found)


def _rows(answer: dict[str, object]) -> list[dict[str, object]]:
    found = answer.get("results")
    rows = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("dict[str, object]", one) for one in rows[:_MOST] if isinstance(one, dict)]


def _judgment(row: dict[str, object]) -> Judgment:
    """The decision in an answer; raises ToolFailed for what is none."""
    day, az = _day(row, "date"), _text(row, "file_number")
    content = row.get("content")
    if not day or not az or not isinstance(content, str):
        raise ToolFailed(f"{OPEN_HOST} hat keinen Text dieser Entscheidung.")
    if len(content) > _LONGEST:
        raise ToolFailed("Diese Entscheidung ist zu lang und wurde nicht eingelesen.")
    reader = _Reader()
    try:
        reader.feed(content)
        reader.close()
    except AssertionError as error:  # such as of a declaration that is none
        raise ToolFailed("Der Text dieser Entscheidung ist beschädigt.") from error
    if not reader.found:
        raise ToolFailed(f"{OPEN_HOST} hat keinen Text dieser Entscheidung.")
    ecli, changed = _text(row, "ecli"), _day(row, "updated_date")
    return Judgment(
        key=f"{OPEN_HOST}/{row.get('id')}",
        ecli=ecli if _ECLI.fullmatch(ecli) else "",  # others are made up there
        court=_court(row),
        chamber="",
        day=day.isoformat(),
        az=az,
        kind=_text(row, "type"),
        title="",
        norms="",
        paragraphs=reader.found,
        source=OPEN_HOST,
        state=changed.isoformat() if changed else "",
    )


def _court(row: dict[str, object]) -> str:
    """A court as it is cited."""
    court = row.get("court")
    name = _text(cast("dict[str, object]", court), "name") if isinstance(court, dict) else ""
    for long, short in _ALONE.items():
        if name.startswith(long):
            return short
    for long, short in _KINDS.items():
        if name.startswith(f"{long} "):
            return f"{short}{name.removeprefix(long)}"
    return _UNKNOWN if name.casefold() in ("", "unknown court") else name


def _text(row: dict[str, object], name: str) -> str:
    value = row.get(name)
    return " ".join(value[:_FIELD].split()) if isinstance(value, str) else ""


def _day(row: dict[str, object], name: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(_text(row, name)[:10])
    except ValueError:
        return None


class _Reader(HTMLParser):
    """Collects the paragraphs of a decision: by their Randnummern, without any by their lines."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Paragraph] = []
        self._part, self._number = "", ""
        self._words: list[str] = []
        self._inside = ""
        """The element whose text is a heading, a number or nothing to read."""
        self._aside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if self._inside:
            return
        if tag in _HEADINGS or tag in _WITHOUT:
            self._end_paragraph()
            self._inside = tag
        elif tag == "a" and named.get("name", "").startswith("rd_"):
            self._end_paragraph()
            self._number, self._inside = named["name"][3:_FIELD], tag
        elif tag == "span" and named.get("class") == "absatzRechts":
            self._end_paragraph()
            self._inside = tag
        elif tag in _LINES:
            if tag == "p" and not self._number:
                self._end_paragraph()
            self._words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag != self._inside:
            return
        aside, self._inside, self._aside = " ".join("".join(self._aside).split()), "", []
        if tag in _HEADINGS:
            self._part = aside[:_FIELD].rstrip(":")
        elif tag == "span":
            self._number = aside[:_FIELD]

    def handle_data(self, data: str) -> None:
        (self._aside if self._inside else self._words).append(data.replace("\n", " "))

    def close(self) -> None:
        super().close()
        self._end_paragraph()

    def _end_paragraph(self) -> None:
        lines = (" ".join(one.split()) for one in "".join(self._words).split("\n"))
        if text := "\n".join(one for one in lines if one):
            self.found.append(Paragraph(self._part, self._number, text))
        self._words, self._number = [], ""
