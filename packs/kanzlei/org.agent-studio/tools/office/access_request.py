"""Access request: all that the office has of one person, in one zip (Art. 15 GDPR, KZ-45)."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from studio.packs import Home, Person, ToolFailed, dataclass

from .. import _german as german
from ..masking.finding import LAST, Finder
from ..masking.folding import folded
from ..masking.known import named
from .akten import Akte, Akten
from .audit import append, private
from .dokumente import Dokument, Dokumente
from .history import now
from .persons import ADMIN, ANWALT

_MOST_AKTEN = 1_000_000


_Names = Callable[..., bool]


@dataclass(frozen=True, slots=True)
class _Named:
    """A document that names the person, and on which pages; 0 is its title."""

    document: Dokument
    pages: tuple[int, ...]
    whole: bool


def collect(home: Home, person: Person, name: str, target: Path) -> tuple[int, int]:
    """Write the zip; returns how many Akten and documents name the person. Blocks.

    A lawyer looks through it before it is handed out: other people are in it too.
    """
    if person.role not in (ADMIN, ANWALT):
        raise ToolFailed(f"Eine Auskunft stellt ein Anwalt zusammen, nicht {person.role}.")
    known = named("Person", name)
    if known is None:
        raise ToolFailed("Nenne die Person mit Vor- und Nachnamen.")
    finder, last = Finder([known]), folded(known.last)

    def names(text: str, whole: bool = False) -> bool:
        """Whether a text names them: by the last name, or by the whole name."""
        return last in folded(text) and any(
            not one.part or (one.part.startswith(LAST) and not whole) for one in finder.find(text)
        )

    documents = home.service(Dokumente)
    told: list[dict[str, object]] = []
    count = 0
    try:
        with (
            open(target, "xb", opener=private) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as made,
        ):
            for akte in home.service(Akten).find(person, most=_MOST_AKTEN):
                found = _in_documents(documents, akte, names)
                if not names(akte.rubrum) and not any(one.whole for one in found):
                    continue  # another person of that name
                count += len(found)
                told.append(_told(akte, found))
                for one in found:
                    _add(made, documents, akte, one.document)
            about = {
                "person": name,
                "zeit": now(),
                "akten": told,
                "kontakte": _contacts(home, names),
            }
            made.writestr("auskunft.json", json.dumps(about, ensure_ascii=False, indent=1))
    except FileExistsError as error:
        raise ToolFailed(f"{target} gibt es schon.") from error
    except OSError as error:
        raise ToolFailed(f"{target} kann nicht geschrieben werden: {error.strerror}.") from error
    what = f"{german.many(len(told), 'Akten')}, {german.many(count, 'Dokumente')}"
    append(home.records, now(), person, None, "Auskunft", what)
    return len(told), count


def _in_documents(documents: Dokumente, akte: Akte, names: _Names) -> list[_Named]:
    found: list[_Named] = []
    for one in documents.find(akte):
        texts = {0: one.name} | documents.pages(one)
        pages = tuple(page for page, text in texts.items() if names(text))
        if pages:
            whole = any(names(texts[page], True) for page in pages)
            found.append(_Named(one, pages, whole))
    return found


def _told(akte: Akte, found: list[_Named]) -> dict[str, object]:
    return {
        "aktenzeichen": akte.az,
        "rubrum": akte.rubrum,
        "status": akte.state,
        "dokumente": [
            {"name": one.document.name, "datum": one.document.date, "seiten": one.pages}
            for one in found
        ],
    }


def _add(made: zipfile.ZipFile, documents: Dokumente, akte: Akte, one: Dokument) -> None:
    """The file as it lies in the Akte; one that is gone is left to the list."""
    place = documents.open_folder(akte)
    path = place / one.folder / one.name
    if path.is_file() and path.resolve().is_relative_to(place.resolve()):
        made.write(path, f"{place.name}/{one.folder}/{one.name}".replace("//", "/"))


def _contacts(home: Home, names: _Names) -> list[dict[str, object]]:
    """The person's rows of Kontakte."""
    there = home.records.read("SELECT 1 FROM sqlite_master WHERE name = 'kontakt'")
    rows = home.records.read("SELECT * FROM kontakt") if there else []
    return [dict(row) for row in rows if names(" ".join(str(one or "") for one in row.values()))]
