"""All that the code of packs imports (KZ-2): ``from studio.packs import Context, Pack, tool``.

The same names are there in both worlds: in the program, and in the process of a pack that other
people made. Pages in the program take their widgets from ``studio.packs.ui``. ``dataclass`` makes
the methods of a class when they are first used, which keeps the start of the program short.

- ``ui``: All that the pages of packs take from the window; the only module here with Qt (KZ-9).
- ``host``: Runs the Python of one pack in a process of its own, and serves it as MCP (X-3).
- ``host_start``: Starts that process without the studio's own packages.
"""

from __future__ import annotations

from studio.domain.drafts import KindDraft
from studio.domain.errors import ToolFailed
from studio.domain.persons import Person
from studio.domain.records import dataclass
from studio.files.file_lock import exclusive_access
from studio.files.sealed_file import SealedReader, SealedWriter, Unsealable
from studio.processes.environment import child_environment
from studio.tools.packs.definition import Pack
from studio.tools.packs.files import FileChange
from studio.tools.packs.home import Home, Records, Value
from studio.tools.packs.kinds import DraftKind, Shown, propose
from studio.tools.packs.persons_act import PersonsAct
from studio.tools.packs.policy import ALLOWED, AskedRequest, Mask, RequestPolicy, Verdict
from studio.tools.packs.sources import Mark, Source
from studio.tools.packs.verbs import Verb, verb
from studio.tools.sdk.context import Context
from studio.tools.sdk.definition import tool
from studio.tools.sdk.result import Result
from studio.tools.workspace.pdf import pages as pdf_pages
from studio.tools.workspace.pdf import scans as pdf_scans

__all__ = [
    "ALLOWED",
    "AskedRequest",
    "Context",
    "DraftKind",
    "FileChange",
    "Home",
    "KindDraft",
    "Mark",
    "Mask",
    "Pack",
    "Person",
    "PersonsAct",
    "Records",
    "RequestPolicy",
    "Result",
    "SealedReader",
    "SealedWriter",
    "Shown",
    "Source",
    "ToolFailed",
    "Unsealable",
    "Value",
    "Verb",
    "Verdict",
    "child_environment",
    "dataclass",
    "exclusive_access",
    "pdf_pages",
    "pdf_scans",
    "propose",
    "tool",
    "verb",
]
