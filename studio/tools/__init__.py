"""All that a tool file imports: ``from studio.tools import Context, ToolFailed, tool``.

A tool is one function with type hints and a docstring (T-1)::

    @tool(effect="read", target="path", verb="Reading", done="Read", icon="file-text")
    async def read(context: Context, path: str, first_line: int = 1) -> Result:
        '''Read a text file.

        path: The file, relative to the folder.
        first_line: Where to begin, counting from 1.
        '''

- ``builtin``: those that come with the program.
- ``discovery``: finds built-in tools, a person's tool files and installed packages (T-1).
- ``drafts``: makes, compares, applies and undoes changes that wait for the person (T-5).
- ``language``: has language servers say what is wrong with a file (C-11).
- ``memory``: keeps notes for later chats, proposes them, and finds them again (W-41).
- ``packs``: describes what the Python of a pack gives to the studio, and what it gets (KZ-2).
- ``script_head``: what a Python file says that it needs, as in PEP 723.
- ``sdk``: turns a function into a tool, checks its arguments, renders its result.
- ``web``: fetches pages and searches, and guards the way there (T-8).
- ``workspace``: reads, finds and searches files in the folder an agent works in.
"""

from __future__ import annotations

from studio.domain.drafts import Draft, FileDraft, RecordDraft
from studio.domain.errors import ToolFailed
from studio.domain.tools import ToolSpec

from .drafts.draft_apply import DraftTargets, undo_draft, write_draft
from .drafts.draft_make import make_delete, make_draft, make_move, propose
from .drafts.draft_write import DraftConflict
from .drafts.record_store import RecordStore, make_record_draft
from .sdk.context import Context, Drafts
from .sdk.definition import Tool, tool
from .sdk.result import Result, render, shorten
from .workspace.folder import Workspace

__all__ = [
    "Context",
    "Draft",
    "DraftConflict",
    "DraftTargets",
    "Drafts",
    "FileDraft",
    "RecordDraft",
    "RecordStore",
    "Result",
    "Tool",
    "ToolFailed",
    "ToolSpec",
    "Workspace",
    "make_delete",
    "make_draft",
    "make_move",
    "make_record_draft",
    "propose",
    "render",
    "shorten",
    "tool",
    "undo_draft",
    "write_draft",
]
