"""Drafts of reading documents anew: what changed in the folder of an Akte (KZ-37)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from studio.packs import Home, KindDraft, Person, Shown, ToolFailed, dataclass

from .akten import Akte, Akten
from .dokumente import Anew, Dokumente
from .entwuerfe import OfficeKind


@dataclass()
class IndexFields:
    """Which documents of an Akte are read anew; all of them if none is named."""

    akte: int
    documents: Sequence[int] = ()
    edited: str = ""


class IndexKind(OfficeKind):
    """The texts of documents, read anew."""

    name, noun, fields = "index", "Suchbestand", IndexFields

    def show(self, fields: IndexFields, home: Home) -> Shown:
        akte = home.service(Akten).get(home.person, fields.akte)
        found = home.service(Dokumente).anew(akte, fields.documents)
        lines = [f"{one.path}: {_what(one)} ({one.digest[:12]})" for one in found]
        title = f"{len(found)} Dateien neu lesen ({akte.az})"
        if len(found) == 1:
            title = f"{found[0].path} neu lesen ({akte.az})"
        return Shown(f"akte/{akte.id}", title, "\n".join(lines) + "\n")

    def enter(
        self, draft: KindDraft, fields: IndexFields, akte: Akte, home: Home, person: Person
    ) -> None:
        documents = home.service(Dokumente)
        for one in documents.anew(akte, fields.documents):
            data = documents.content(akte, one.folder, one.name)
            if hashlib.sha256(data).hexdigest() != one.digest:
                raise ToolFailed(f"{one.path} wird gerade geändert. Versuche es noch einmal.")
            documents.enter(person, akte, one.name, data, folder=one.folder, draft=draft.id)

    def take_back(
        self, draft: KindDraft, fields: IndexFields, akte: Akte, home: Home, person: Person
    ) -> None:
        home.service(Dokumente).take_back(person, akte, draft.id)


def _what(one: Anew) -> str:
    return f"geändert seit Version {one.version}" if one.version else "neu im Ordner"


INDEX = IndexKind()
