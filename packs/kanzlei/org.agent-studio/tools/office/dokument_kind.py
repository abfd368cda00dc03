"""Drafts of documents: a letter whose file is written once a person approved it (KZ-37).

The file is written by the studio's own rules for drafts of files: one that is there, or was changed
meanwhile, is never replaced. A document that is replaced keeps its bytes until the draft is old.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import cast

from studio.packs import FileChange, Home, KindDraft, Person, Shown, ToolFailed, dataclass

from ..law.check import not_found
from ..law.normen import Normen
from ..law.urteile import Urteile
from ..muster.filling import all_muster, filled
from .akten import Akte, Akten
from .dokumente import Dokumente
from .entwuerfe import APPROVED, EditableKind, Entwuerfe
from .letters import docx_of
from .texts import words_of
from .zeit_kind import require_text

LONGEST = 200_000
_MOST_WRONG = 5
"""Citations that were not found and are named in a title."""


@dataclass()
class DokumentFields:
    """What a draft of a document says. ``name`` is that of its file in the folder of the Akte.

    ``replaces`` is the digest of the file that it replaces, empty for a new one. ``muster`` is the
    template that is filled with ``values``, as JSON; ``text`` is then what came of it.
    """

    akte: int
    name: str
    text: str
    folder: str = ""
    kind: str = ""
    replaces: str = ""
    edited: str = ""
    muster: str = ""
    values: str = ""


class DokumentKind(EditableKind):
    """A document of an Akte, as a Word file."""

    name, noun, fields = "dokument", "Dokument", DokumentFields

    def show(self, fields: DokumentFields, home: Home) -> Shown:
        akte = home.service(Akten).get(home.person, fields.akte)
        require_text(fields.text, LONGEST)
        path = _path(fields)
        title = f"{path} ({akte.az})"
        wrong = not_found(home.service(Normen), home.service(Urteile), fields.text)
        if wrong:  # above the buttons, before anybody approves it
            title += f" – nicht gefunden: {', '.join(wrong[:_MOST_WRONG])}"
        if len(wrong) > _MOST_WRONG:
            title += f" und {len(wrong) - _MOST_WRONG} weitere"
        return Shown(f"akte/{akte.id}/{path}", title, fields.text.strip() + "\n")

    def read(self, fields: DokumentFields, text: str) -> DokumentFields:
        same = text.strip() == fields.text.strip()
        return fields if same else replace(fields, text=text.strip(), muster="", values="")

    def conflict(self, draft: KindDraft, fields: DokumentFields, home: Home) -> str:
        akte = home.service(Akten).get(home.person, fields.akte)
        change = _change(draft, fields, akte, home)
        if why := super().conflict(draft, fields, home):
            return why
        if home.service(Entwuerfe).state(draft.id) == APPROVED or change.is_made:
            return ""
        if not fields.replaces and (change.folder / change.name).exists():
            return f"{_path(fields)} gibt es inzwischen schon. Nichts wurde geändert."
        if fields.replaces and _digest(akte, fields, home) != fields.replaces:
            return f"{_path(fields)} wurde seit dem Entwurf geändert. Nichts wurde geändert."
        return ""

    def prepare(self, draft: KindDraft, fields: DokumentFields, akte: Akte, home: Home) -> None:
        if fields.replaces and _kept(draft, home) is None:
            data = home.service(Dokumente).content(akte, fields.folder, fields.name)
            if hashlib.sha256(data).hexdigest() != fields.replaces:
                raise ToolFailed(f"{_path(fields)} wurde seit dem Entwurf geändert.")
            home.records.write("INSERT INTO vorher VALUES (?, ?)", draft.id, data)
        _change(draft, fields, akte, home).write()

    def enter(
        self, draft: KindDraft, fields: DokumentFields, akte: Akte, home: Home, person: Person
    ) -> None:
        home.service(Dokumente).enter(
            person,
            akte,
            fields.name,
            _bytes(fields, home),
            folder=fields.folder,
            kind=fields.kind,
            draft=draft.id,
        )

    def take_back(
        self, draft: KindDraft, fields: DokumentFields, akte: Akte, home: Home, person: Person
    ) -> None:
        home.service(Dokumente).take_back(person, akte, draft.id)

    def remove(self, draft: KindDraft, fields: DokumentFields, akte: Akte, home: Home) -> None:
        _change(draft, fields, akte, home).undo()

    def sweep(self, draft: KindDraft, fields: DokumentFields, akte: Akte, home: Home) -> None:
        change = _change(draft, fields, akte, home)
        if change.is_made and (change.before is not None or not fields.replaces):
            change.undo()


def _digest(akte: Akte, fields: DokumentFields, home: Home) -> str:
    """The digest of the file that is replaced as it is now; empty where it is gone."""
    try:
        data = home.service(Dokumente).content(akte, fields.folder, fields.name)
    except ToolFailed:
        return ""
    return hashlib.sha256(data).hexdigest()


def _path(fields: DokumentFields) -> str:
    return f"{fields.folder}/{fields.name}" if fields.folder else fields.name


def _bytes(fields: DokumentFields, home: Home) -> bytes:
    """The file: a filled template, or the text that the person edited or Helena wrote."""
    if not fields.muster:
        return docx_of(fields.text)
    return _from_muster(home, fields.muster, json.loads(fields.values))


def text_of_muster(home: Home, name: str, values: dict[str, str]) -> str:
    """The words of a filled template; raises ToolFailed where a field is missing."""
    data = _from_muster(home, name, values)
    return "\n".join(words_of("Muster.docx", data).pages)


def _from_muster(home: Home, name: str, values: dict[str, str]) -> bytes:
    for one in all_muster(home.service(Dokumente).templates):
        if one.name == name:
            return filled(one, values)
    raise ToolFailed(f"Das Muster {name} gibt es nicht mehr.")


def _kept(draft: KindDraft, home: Home) -> bytes | None:
    rows = home.records.read("SELECT daten FROM vorher WHERE entwurf = ?", draft.id)
    return cast("bytes", rows[0]["daten"]) if rows else None


def _change(draft: KindDraft, fields: DokumentFields, akte: Akte, home: Home) -> FileChange:
    folder = home.service(Dokumente).open_folder(akte)
    return FileChange(folder, _path(fields), _bytes(fields, home), _kept(draft, home))


DOKUMENT = DokumentKind()
