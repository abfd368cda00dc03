"""The commands about laws, decisions and citations (KZ-50)."""

from __future__ import annotations

from pathlib import Path

from studio.packs import Context, ToolFailed, verb

from .. import _german as german
from ..law.check import check
from ..law.fetching import address_of, fetched
from ..law.normen import Imported, Normen
from ..law.openlegaldata import load
from ..law.urteile import Urteile
from ..law.verzeichnis import LIST, Verzeichnis
from ..office.dokumente import read_words
from ..search_gesetze import section_cited, whole


@verb(effect="read")
def gesetze(context: Context) -> list[str]:
    """Die eingelesenen Gesetze mit ihrem Stand auflisten."""
    return [
        f"{one['kurz']}: {one['titel']}, {one['tag']}{_hint('Auszug' if one['auszug'] else '')}"
        for one in context.service(Normen).laws()
    ]


@verb(effect="read")
def gesetz(context: Context, norm: str) -> dict[str, object]:
    """Eine Norm zeigen.

    norm: Wie sie zitiert wird: § 573 Abs. 2 BGB.
    """
    section, absatz = section_cited(context, norm)
    return whole(section, absatz)


@verb
def gesetze_import(context: Context, pfad: str) -> list[str]:
    """Gesetze von gesetze-im-internet.de einlesen: eine XML-Datei, ein zip oder einen Ordner.

    pfad: Die Datei oder der Ordner.
    """
    done = context.service(Normen).add(Path(pfad).expanduser())
    return _laws_read(done)


@verb
def gesetze_laden(context: Context, gesetz: str) -> list[str]:
    """Ein Gesetz von gesetze-im-internet.de laden und einlesen; sonst fragt das Paket niemanden.

    gesetz: Seine Abkürzung: BGB.
    """
    done = fetched(address_of(gesetz), context.service(Normen).add)
    return _laws_read(done)


@verb
def urteile_laden(context: Context, adresse: str, openlegaldata: bool = False) -> list[str]:
    """Eine Entscheidung von rechtsprechung-im-internet.de laden und einlesen.

    adresse: Gericht, Tag und Aktenzeichen, wie man sie zitiert, nach dem Verzeichnis; oder die
        Adresse ihrer zip-Datei.
    openlegaldata: Von openlegaldata.io, auch die der Länder: nicht amtlich, vielleicht veraltet.
    """
    store = context.service(Urteile)
    if openlegaldata:
        done = load(store, adresse)
    else:
        done = fetched(context.service(Verzeichnis).wanted(adresse), store.add)
    return [done.told("Entscheidungen"), *done.problems]


@verb
def verzeichnis_laden(context: Context, datei: str = "") -> str:
    """Das Verzeichnis aller Entscheidungen von rechtsprechung-im-internet.de laden (23 MB).

    datei: Eine Datei rii-toc.xml statt der Seite.
    """
    service = context.service(Verzeichnis)
    path = Path(datei).expanduser()
    if datei and not path.is_file():
        raise ToolFailed(f"{datei} gibt es nicht.")
    many = service.replace(path) if datei else fetched(LIST, service.replace)
    return f"{german.many(many, 'Entscheidungen')} im Verzeichnis"


@verb(effect="read")
def verzeichnis(context: Context, worte: str) -> list[str]:
    """Entscheidungen im Verzeichnis nachschlagen; geladen wird eine mit „urteile-laden“.

    worte: Gericht, Tag, Aktenzeichen, je soweit bekannt: BGH 14.01.2010, IX ZB 72/08.
    """
    found, many = context.service(Verzeichnis).find(worte)
    lines = [f"{one.name}{_hint('im Bestand' if one.known else '')}" for one in found]
    return [*lines, f"{many} gefunden"]


@verb(effect="read")
def zitate(context: Context, datei: str) -> list[str]:
    """Die Zitate einer Datei mit den eingelesenen Gesetzen und Urteilen vergleichen.

    datei: Eine Datei mit Text: docx, pdf, txt, eml, html.
    """
    read = read_words(Path(datei).expanduser())
    text = "\n".join(read.pages)
    found = check(context.service(Normen), context.service(Urteile), text)
    lines = [f"{one.state}: {one.cited}{_hint(one.reason)}" for one in found]
    return [*([read.missing] if read.missing else []), *lines] or ["Es wird nichts zitiert."]


@verb(effect="read")
def urteile(context: Context, worte: str = "", norm: str = "", gericht: str = "") -> list[str]:
    """Eingelesene Entscheidungen suchen, die beste zuerst.

    worte: Was gesucht wird, oder ein Aktenzeichen.
    norm: Nur zu dieser Norm: § 573 BGB.
    gericht: Nur dieses Gericht: BGH.
    """
    service = context.service(Urteile)
    found = service.cited(worte) or service.find(worte, norm=norm, court=gericht)[0]
    return [f"{one.name}{_hint(one.title)}" for one in found]


@verb
def urteile_import(context: Context, pfad: str) -> list[str]:
    """Urteile von rechtsprechung-im-internet.de einlesen: eine XML-Datei, ein zip, einen Ordner.

    pfad: Die Datei oder der Ordner.
    """
    done = context.service(Urteile).add(Path(pfad).expanduser())
    return [done.told("Entscheidungen"), *done.problems]


def _laws_read(done: Imported) -> list[str]:
    counts = ((done.laws, "Gesetze"), (done.sections, "Paragrafen"), (done.changed, "Wortlaute"))
    told = ", ".join(german.many(count, noun) for count, noun in counts)
    return [f"{told} geändert", *done.problems]


def _hint(words: str) -> str:
    return f" ({words})" if words else ""


COMMANDS = (
    gesetze,
    gesetz,
    gesetze_import,
    gesetze_laden,
    urteile_laden,
    verzeichnis_laden,
    verzeichnis,
    zitate,
    urteile,
    urteile_import,
)
