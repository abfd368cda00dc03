"""The commands about laws, decisions and citations (KZ-50)."""

from __future__ import annotations

from pathlib import Path

from studio.packs import Context, verb

from .law.check import check
from .law.normen import Normen
from .law.urteile import Urteile
from .office.dokumente import read_words
from .search_gesetze import section_cited, whole


@verb(effect="read")
def gesetze(context: Context) -> list[str]:
    """List the laws in the store, with their Stand."""
    return [
        f"{one['kurz']}: {one['titel']}, {one['tag']}{_hint('Auszug' if one['auszug'] else '')}"
        for one in context.service(Normen).laws()
    ]


@verb(effect="read")
def gesetz(context: Context, norm: str) -> dict[str, object]:
    """Show a norm.

    norm: Wie er zitiert wird: § 573 Abs. 2 BGB.
    """
    section, absatz = section_cited(context, norm)
    return whole(section, absatz)


@verb
def gesetze_import(context: Context, pfad: str) -> list[str]:
    """Import laws from gesetze-im-internet.de: an XML file, a zip, or a folder of them.

    pfad: The file or folder.
    """
    done = context.service(Normen).add(Path(pfad).expanduser())
    told = f"{done.laws} Gesetze, {done.sections} Paragrafen, {done.changed} Wortlaute geändert"
    return [told, *done.problems]


@verb(effect="read")
def zitate(context: Context, datei: str) -> list[str]:
    """Check the norms and decisions that a file cites against the laws in the store.

    datei: A file with text: docx, pdf, txt, eml, html.
    """
    read = read_words(Path(datei).expanduser())
    text = "\n".join(read.pages)
    found = check(context.service(Normen), context.service(Urteile), text)
    lines = [f"{one.state}: {one.cited}{_hint(one.reason)}" for one in found]
    return [*([read.missing] if read.missing else []), *lines] or ["Es wird nichts zitiert."]


@verb(effect="read")
def urteile(context: Context, worte: str = "", norm: str = "", gericht: str = "") -> list[str]:
    """Find decisions in the store, the best first.

    worte: What is looked for, or an Aktenzeichen.
    norm: Nur zu dieser Norm: § 573 BGB.
    gericht: Nur dieses Gericht: BGH.
    """
    service = context.service(Urteile)
    found = service.cited(worte) or service.find(worte, norm=norm, court=gericht)[0]
    return [f"{one.name}{_hint(one.title)}" for one in found]


@verb
def urteile_import(context: Context, pfad: str) -> list[str]:
    """Import decisions from rechtsprechung-im-internet.de: an XML file, a zip, or a folder of them.

    pfad: The file or folder.
    """
    done = context.service(Urteile).add(Path(pfad).expanduser())
    return [f"{done.laws} Entscheidungen, {done.changed} neu oder geändert", *done.problems]


def _hint(words: str) -> str:
    return f" ({words})" if words else ""
