"""All that a tool file imports: ``from studio.tools import Context, ToolFailed, tool``.

A tool is one function with type hints and a docstring (T-1)::

    @tool(effect="read", target="path", verb="Reading", done="Read", icon="file-text")
    async def read(context: Context, path: str, first_line: int = 1) -> Result:
        '''Read a text file.

        path: The file, relative to the folder.
        first_line: Where to begin, counting from 1.
        '''

The hints become the JSON schema, the docstring's first paragraph the
description, its ``name: text`` lines the parameters' descriptions. The
parameter annotated ``ContextUsage`` is injected and not in the schema (T-2). A tool
returns text, a list, an object or a ``Result``; raises ``ToolFailed`` to tell
the model what went wrong (L-5). Add a tool by adding a file: ``discovery``
finds it in ``builtin/`` and in the person's own folder.
"""

from __future__ import annotations

from studio.domain.errors import ToolFailed
from studio.domain.tools import Draft, ToolSpec

from .approving import undo_draft, write_draft
from .context import Context, Drafts
from .definition import Tool, tool
from .drafting import make_delete, make_draft, make_move
from .replacing import DraftConflict
from .result import Result, render, shorten
from .workspace import Workspace

__all__ = [
    "Context",
    "Draft",
    "DraftConflict",
    "Drafts",
    "Result",
    "Tool",
    "ToolFailed",
    "ToolSpec",
    "Workspace",
    "make_delete",
    "make_draft",
    "make_move",
    "render",
    "shorten",
    "tool",
    "undo_draft",
    "write_draft",
]
