"""Writes ``release.json`` into the wheel: where to ask for newer versions, and what is new."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

VERSIONS = 8
"""Those whose changes are told: who skipped some sees what came with each."""


class ReleaseFile(BuildHookInterface[Any]):
    """Not for a source folder (``pip install -e``), which asks nobody."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        from definition import definition
        from notes import sections

        root = Path(self.root)
        about = definition(root)
        changes = sections((root / "CHANGELOG.md").read_text("utf-8"))
        told = {
            "address": about.updates.address,
            "keys": list(about.updates.keys),
            "changes": [
                {"version": of, "text": text} for of, _, text in changes[:VERSIONS] if text
            ],
        }
        file = Path(self.directory) / "release.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(told, indent=1), "utf-8")
        self._file = file
        build_data["force_include"][str(file)] = "studio/resources/release.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._file.unlink()
