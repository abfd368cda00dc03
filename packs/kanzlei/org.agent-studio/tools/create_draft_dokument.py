"""The tool ``create_draft_dokument``: a letter that is a file once a person approved it (KZ-37)."""

from __future__ import annotations

import asyncio

from studio.packs import Context, Result, ToolFailed, propose, tool

from .office.akten import akte_here
from .office.dokument_kind import DOKUMENT, DokumentFields
from .office.dokumente import Dokumente, folder_name


@tool(effect="draft", target="title", verb="Drafting document", done="Drafted document")
async def create_draft_dokument(
    context: Context,
    title: str,
    text: str,
    folder: str = "",
    kind: str = "Schriftsatz",
    replaces: int = 0,
    akte: str = "",
) -> Result:
    """Draft a letter or brief for the case file as a Word document; it is written once the person
    approved it.

    title: Its name, such as Schreiben an den Mandanten.
    text: All of it, in German, with Sie.
    folder: The folder in the case file.
    kind: What it is: Schriftsatz, Schreiben, Vermerk.
    replaces: The id of a Word document of the case file that it replaces.
    akte: The Aktenzeichen; empty for the one of this chat.
    """

    def made() -> DokumentFields:
        here, documents = akte_here(context, akte), context.service(Dokumente)
        if not replaces:
            place = folder_name(folder)
            wanted = title.strip().removesuffix(".docx").strip()
            if not wanted:
                raise ToolFailed("title: Wie heißt das Dokument?")
            name = documents.free_name(here, place, f"{wanted}.docx")
            return DokumentFields(here.id, name, text, place, kind)
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
