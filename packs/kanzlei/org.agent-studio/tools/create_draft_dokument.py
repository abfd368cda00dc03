"""The tool ``create_draft_dokument``: a letter that is a file once a person approved it (KZ-37)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from studio.packs import Context, Result, ToolFailed, dataclass, propose, tool

from .fees.note import statement
from .muster.fields import bill_of, known_fields
from .office.akten import Akte, akte_here
from .office.dokument_kind import DOKUMENT, DokumentFields, text_of_muster
from .office.dokumente import Dokumente, folder_name
from .search_muster import muster_named


@dataclass(frozen=True)
class FieldValue:
    """What stands in a field of a template."""

    name: str
    value: str


@tool(effect="draft", target="title", verb="Drafting document", done="Drafted document")
async def create_draft_dokument(
    context: Context,
    title: str,
    text: str = "",
    folder: str = "",
    kind: str = "Schriftsatz",
    replaces: int = 0,
    akte: str = "",
    muster: str = "",
    fields: Sequence[FieldValue] = (),
) -> Result:
    """Draft a letter or brief for the case file as a Word document; it is written once the person
    approved it.

    title: Its name, such as Schreiben an den Mandanten.
    text: All of it, in German, with Sie; empty where a muster is filled.
    folder: The folder in the case file.
    kind: What it is: Schriftsatz, Schreiben, Vermerk.
    replaces: The id of a Word document of the case file that it replaces.
    akte: Empty for this chat's.
    muster: A template of search_muster that is filled from the case file, instead of a text.
    fields: Its fields that the case file does not have, or that differ. Never guess one; ask.
        kosten: positions as 2300=1.5 reason; 3100; frei=45.00 words; amounts are computed.
    """

    def made() -> DokumentFields:
        here, documents = akte_here(context, akte), context.service(Dokumente)
        if not replaces:
            place = folder_name(folder)
            wanted = title.strip().removesuffix(".docx").strip()
            if not wanted:
                raise ToolFailed("title: Wie heißt das Dokument?")
            name = documents.free_name(here, place, f"{wanted}.docx")
            if muster:
                return _filled(context, here, muster, fields, name, place, kind)
            return DokumentFields(here.id, name, text, place, kind)
        if muster:
            raise ToolFailed("Ein Muster ersetzt kein Dokument: nimm replaces nicht dazu.")
        old = documents.get(context.person, replaces)
        if old.akte != here.id:
            raise ToolFailed(f"In der Akte {here.az} gibt es kein Dokument {replaces}.")
        if not old.name.lower().endswith(".docx"):
            raise ToolFailed(f"{old.name} ist kein Word-Dokument und wird nicht ersetzt.")
        old, problem = documents.refresh(context.person, here, old)
        if problem:
            raise ToolFailed(problem)
        return DokumentFields(here.id, old.name, text, old.folder, old.kind, old.digest)

    return await propose(context, DOKUMENT, await asyncio.to_thread(made))


def _filled(
    context: Context,
    akte: Akte,
    muster: str,
    fields: Sequence[FieldValue],
    name: str,
    folder: str,
    kind: str,
) -> DokumentFields:
    found = muster_named(context, muster)
    values = known_fields(context.home, context.person, akte)
    given = {one.name.strip(): one.value for one in fields}
    if positions := given.get("kosten", ""):  # nobody types its amounts
        given["kosten"] = statement(bill_of(context.home, akte, positions))
    values |= given
    text = text_of_muster(context.home, found.name, values)
    told = json.dumps(values, ensure_ascii=False, sort_keys=True)
    return DokumentFields(akte.id, name, text, folder, kind, muster=found.name, values=told)
