"""Pack hosts: says how the Python of other people's packs is started, each in a process (X-3).

Its environment is made by ``uv``, from the requirements in the pack's manifest and in the heads of
its files. A tool file of the person's own that has such a head is started in the same way. Without
``uv`` their tools are off, and the reason is told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import studio
from studio.domain.records import dataclass
from studio.files.folders import private_folder
from studio.mcp.entries import HOST, ServerEntry
from studio.mcp.uv import uv_folder
from studio.tools.discovery import tool_files
from studio.tools.script_head import ScriptHead, python_versions, read_head

from .brought import IN_PROGRAM
from .installed import InstalledPacks
from .script_heads import kept_needs, wrong_head

NO_UV = (
    "{pack}: its tools are off, because they need uv to run apart from the program, and uv was not "
    "found. Have it fetched in the settings, on the page Packs, or with “agent-studio mcp get-uv”."
)
NO_UV_FOR_FILE = (
    "{file}: its tools are off, because it says what it needs (# /// script), so that uv runs it "
    "apart from the program, and uv was not found. Have it fetched in the settings, on the page "
    "Packs, or with “agent-studio mcp get-uv”."
)
NAME_TAKEN = "{file}: its tools are off, because a pack that is on has this name. Rename the file."
OWN = "own_"
"""Begins the ids of the person's own files: no pack's id has a ``_``."""
SECONDS = 60.0
CERTIFICATES = {"UV_SYSTEM_CERTS": "true"}
"""uv trusts whom the system trusts, such as the proxy of an office."""
_USUAL = (Path(".local") / "bin", Path(".cargo") / "bin")


def find_uv(home: Path, programs: Path) -> str:
    """Where ``uv`` is; one that was fetched is the last that is taken. Empty if it is nowhere."""
    folders = [os.environ.get("PATH", ""), *(str(home / one) for one in _USUAL)]
    folders.append(str(uv_folder(programs)))
    return which("uv", path=os.pathsep.join(folders)) or ""


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """The folder of the person's own tool files, and where each keeps what is its own."""

    folder: Path
    data: Path


class HostEntries:
    """The hosts of packs as servers. ``uv`` says where that is; calling it all blocks."""

    def __init__(
        self, installed: InstalledPacks, uv: Callable[[], str], own: OwnFiles | None = None
    ) -> None:
        self._installed = installed
        self._uv = uv
        self._own = own
        self.problems: tuple[str, ...] = ()
        self.without_uv: tuple[str, ...] = ()
        """The ids of packs whose tools are off, as there is no uv; ``problems`` has them too."""

    def __call__(self) -> list[ServerEntry]:
        """Those of the packs that are on: they were approved with all their files."""
        found: list[ServerEntry] = []
        problems: list[str] = []
        without: list[str] = []
        for pack in self._installed.on():
            if pack.origin.kind in IN_PROGRAM or pack.part("tools") is None:
                continue
            uv = self._uv()
            if not uv:
                problems.append(NO_UV.format(pack=pack.id))
                without.append(pack.id)
                continue
            needs = kept_needs(pack.manifest, pack.digest)
            what = (str(pack.manifest.root), pack.id, str(pack.records), pack.digest)
            words = _words(needs.packages, needs.python, what)
            found.append(_entry(pack.id, uv, words, pack.data, pack.id))
        for file, head in self._own_scripts():
            uv = self._uv()
            if head.wrong:
                problems.append(wrong_head(file))
            if not uv:
                problems.append(NO_UV_FOR_FILE.format(file=file))
                continue
            if any(one.name == file.stem for one in found):
                problems.append(NAME_TAKEN.format(file=file))
                continue
            assert self._own is not None
            id = OWN + re.sub(r"\W", "_", file.stem)
            data = self._own.data / file.stem
            what = (str(file), id, str(data / "records.db"), head.digest)
            words = _words(head.needs, python_versions((head,)), what)
            found.append(_entry(file.stem, uv, words, data, id))
        self.problems, self.without_uv = tuple(problems), tuple(without)
        return found

    def _own_scripts(self) -> Iterator[tuple[Path, ScriptHead]]:
        """The person's own tool files that say what they need; the others run in the program."""
        files = tool_files([], self._own.folder) if self._own is not None else []
        for file in files:
            if (head := read_head(file)) is not None:
                yield file, head


def _words(packages: Sequence[str], python: str, what: Sequence[str]) -> list[str]:
    """What follows uv. The digest is last in ``what``, so that another version of the files is
    another process."""
    needs = [word for one in packages for word in ("--with", one)]
    start = Path(studio.__file__).parent / "packs" / "host_start.py"
    words = ["run", "--no-project", "--no-config", "--python", python, *needs]
    return [*words, "python", "-I", "-B", str(start), _checker(), *what]


def _entry(name: str, uv: str, words: Sequence[str], data: Path, id: str) -> ServerEntry:
    entry = ServerEntry(
        name,
        uv,
        tuple(words),
        CERTIFICATES,
        folder=str(private_folder(data)),
        on=True,
        seconds=SECONDS,
        place=f"{HOST}{id}",
    )
    return replace(entry, approved=entry.digest)


def _checker() -> str:
    """What checks arguments: the one package that a host gets of the studio's own."""
    found = find_spec("fastjsonschema")
    return str(Path(found.origin or "").parent) if found else ""
