"""Takes what the package for the terminal needs from the program's own ``pyproject.toml``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class WithoutWindow(MetadataHookInterface):
    """All dependencies but those that ``[tool.agent-studio]`` names as the window's."""

    def update(self, metadata: dict[str, Any]) -> None:
        whole = tomllib.loads((Path(self.root).parents[1] / "pyproject.toml").read_text("utf-8"))
        project, window = whole["project"], whole["tool"]["agent-studio"]["window"]
        metadata["dependencies"] = [
            one
            for one in project["dependencies"]
            if re.match(r"[\w.-]+", one)[0] not in window  # type: ignore[index]
        ]
        metadata["requires-python"] = project["requires-python"]
        metadata["optional-dependencies"] = project["optional-dependencies"]
        metadata["scripts"] = project["scripts"]
