"""Pack hosts: says how the Python of other people's packs is started, each in a process (X-3).

Its environment is made by ``uv``, from the requirements in the pack's manifest and in the heads of
its files. Without ``uv`` the pack's tools are off, and the reason is told.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import studio
from studio.files.folders import private_folder
from studio.mcp.entries import HOST, ServerEntry
from studio.mcp.uv import uv_folder

from .brought import IN_PROGRAM
from .installed import InstalledPacks
from .script_heads import requirements

NO_UV = (
    "{pack}: its tools are off, because they need uv to run apart from the program, and uv was not "
    "found. Have it fetched in the settings, on the page Packs, or with “agent-studio mcp get-uv”."
)
SECONDS = 60.0
CERTIFICATES = {"UV_SYSTEM_CERTS": "true"}
"""uv trusts whom the system trusts, such as the proxy of an office."""
_USUAL = (Path(".local") / "bin", Path(".cargo") / "bin")


def find_uv(home: Path, programs: Path) -> str:
    """Where ``uv`` is; one that was fetched is the last that is taken. Empty if it is nowhere."""
    folders = [os.environ.get("PATH", ""), *(str(home / one) for one in _USUAL)]
    folders.append(str(uv_folder(programs)))
    return which("uv", path=os.pathsep.join(folders)) or ""


class HostEntries:
    """The hosts of packs as servers. ``uv`` says where that is; calling it all blocks."""

    def __init__(self, installed: InstalledPacks, uv: Callable[[], str]) -> None:
        self._installed = installed
        self._uv = uv
        self.problems: tuple[str, ...] = ()

    def __call__(self) -> list[ServerEntry]:
        """Those of the packs that are on: they were approved with all their files."""
        found: list[ServerEntry] = []
        problems: list[str] = []
        start = Path(studio.__file__).parent / "packs" / "host_start.py"
        for pack in self._installed.on():
            if pack.origin.kind in IN_PROGRAM or pack.part("tools") is None:
                continue
            uv = self._uv()
            if not uv:
                problems.append(NO_UV.format(pack=pack.id))
                continue
            needs = [
                word for one in requirements(pack.manifest, pack.digest) for word in ("--with", one)
            ]
            # The digest is among the arguments, so that another version is another process.
            words = ["run", "--no-project", "--no-config", "--python", ">=3.11", *needs]
            words += ["python", "-I", "-B", str(start), _checker()]
            words += [str(pack.manifest.root), pack.id, str(pack.records), pack.digest]
            entry = ServerEntry(
                pack.id,
                uv,
                tuple(words),
                CERTIFICATES,
                folder=str(private_folder(pack.data)),
                on=True,
                seconds=SECONDS,
                place=f"{HOST}{pack.id}",
            )
            found.append(replace(entry, approved=entry.digest))
        self.problems = tuple(problems)
        return found


def _checker() -> str:
    """What checks arguments: the one package that a host gets of the studio's own."""
    found = find_spec("fastjsonschema")
    return str(Path(found.origin or "").parent) if found else ""
