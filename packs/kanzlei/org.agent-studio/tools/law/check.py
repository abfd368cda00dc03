"""Check: whether what a text cites is in the store of laws, and quoted as it is there (KZ-30).

Sentences of an Absatz are not counted, so a wrong number of a sentence is not seen.
"""

from __future__ import annotations

import datetime
import re

from studio.packs import dataclass

from .. import _german as german
from .._patterns import lazy_pattern
from .citations import Citation, Passage, passages
from .decisions import Cited, decisions
from .normen import Normen, Section
from .urteile import Urteile

FOUND, NOT_FOUND, NOT_STORED = "gefunden", "nicht gefunden", "nicht im Bestand"
_QUOTE = lazy_pattern('[„»"“]([^„“”»«"\n]{15,1500})[“”«"]')
_LEFT_OUT = lazy_pattern(r"\s*(?:[\[(](?:…|\.\.\.)[\])]|…|\.\.\.)\s*")
_NEAR = 150
"""Characters between a quotation and its norm."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one citation. ``reason`` says in German what is wrong or to check."""

    cited: str
    state: str
    reason: str = ""
    title: str = ""
    address: str = ""
    section: Section | None = None


def check(normen: Normen, urteile: Urteile, text: str) -> list[Finding]:
    """Each norm and decision that a text cites, once, with what the store says. Blocks."""
    cites = passages(text)
    quotes = _quotes(text, cites)
    found: dict[tuple[str, str], Finding] = {}
    for index, passage in enumerate(cites):
        for cited in passage.cited:
            finding = _norm(normen, cited, quotes.get(index, []))
            found.setdefault((finding.cited, finding.reason), finding)
    for decision in decisions(text):
        finding = _decision(urteile, decision)
        found.setdefault((finding.cited, finding.reason), finding)
    return list(found.values())


def not_found(normen: Normen, urteile: Urteile, text: str) -> list[str]:
    """What a text cites and does not exist, or not so. Blocks."""
    found = check(normen, urteile, text)
    return [one.cited for one in found if one.state == NOT_FOUND]


def _decision(urteile: Urteile, cited: Cited) -> Finding:
    name = cited.text
    if cited.day and cited.year and cited.day.year < cited.year:
        reason = f"Ein Verfahren von {cited.year} kann {cited.day.year} nicht entschieden sein."
        return Finding(name, NOT_FOUND, reason)
    if cited.day and cited.day > datetime.date.today():
        return Finding(name, NOT_FOUND, f"Der {german.day(cited.day)} liegt in der Zukunft.")
    known = [] if not cited.key else urteile.cited(cited.key)
    if not known:
        reason = "Sie ist nicht eingelesen. Prüfe selbst, ob es sie gibt."
        return Finding(name, NOT_STORED, reason)
    same = [one for one in known if not cited.court or one.court == cited.court]
    # A collection that is not official lacks some, and courts of the Länder share Aktenzeichen.
    missing = NOT_STORED if all(one.source for one in known) else NOT_FOUND
    if not same:
        reason = f"Unter diesem Aktenzeichen steht dort: {known[0].name}."
        return Finding(name, missing, reason)
    if cited.day and all(one.day != cited.day for one in same):
        return Finding(name, missing, f"Mit diesem Tag gibt es sie nicht, aber: {same[0].name}.")
    one = next((one for one in same if one.day == cited.day), same[0])
    return Finding(name, FOUND, one.note, one.title, one.address)


def _norm(normen: Normen, cited: Citation, quotes: list[str]) -> Finding:
    name = str(cited)
    if cited.sign in ("VV", "KV"):
        reason = "Nummern der Verzeichnisse kennt get_kosten_rules."
        return Finding(name, NOT_STORED, reason)
    if not normen.has(cited.law):
        return Finding(name, NOT_STORED, f"{cited.law} ist nicht eingelesen.")
    section = normen.section(cited)
    if section is None and not normen.has(cited.law, whole=True):
        return Finding(name, NOT_STORED, f"{cited.law} ist nur in Auszügen eingelesen.")
    if section is None:
        return Finding(name, NOT_FOUND, f"{cited.law} hat {cited.sign} {cited.section} nicht.")
    if "weggefallen" in section.title or not any(section.texts.values()):
        return Finding(name, NOT_FOUND, f"{section.citation} ist weggefallen.")
    if cited.absatz and cited.absatz not in section.texts and not _is_only(cited, section):
        return Finding(name, NOT_FOUND, f"{section.citation} hat keinen Absatz {cited.absatz}.")
    texts = section.texts
    if cited.absatz in texts:
        texts = {cited.absatz: texts[cited.absatz]}
    words = "\n".join(texts.values())
    if cited.nummer and not re.search(rf"^{cited.nummer}\.", words, re.MULTILINE):
        return Finding(name, NOT_FOUND, f"Dort gibt es keine Nr. {cited.nummer}.")
    reason = ""
    if wrong := [one for one in quotes if not _stands(one, words)]:
        reason = f"Der Wortlaut weicht ab: „{wrong[0]}“ steht dort nicht."
    return Finding(name, FOUND, reason, section.title, cited.address, section)


def _is_only(cited: Citation, section: Section) -> bool:
    """Whether a section without numbered Absätze is cited by its first."""
    return cited.absatz == "1" and list(section.texts) == [""]


def _quotes(text: str, cites: list[Passage]) -> dict[int, list[str]]:
    """The quotations of the text by the passage they are of: the nearest one, if it cites one
    norm."""
    found: dict[int, list[str]] = {}
    for match in _QUOTE.finditer(text):
        far = [max(one.start - match.end(), match.start() - one.end, 0) for one in cites]
        nearest = min(range(len(cites)), key=far.__getitem__, default=None)
        if nearest is None or far[nearest] > _NEAR or len(cites[nearest].cited) != 1:
            continue
        found.setdefault(nearest, []).append(match[1])
    return found


def _stands(quote: str, words: str) -> bool:
    """Whether the parts of a quotation stand in the text, one after the other."""
    place, words = 0, " ".join(words.split())
    for part in _LEFT_OUT.split(quote):
        part = " ".join(part.split()).strip(" .,;:")
        place = words.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True
