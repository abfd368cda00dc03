"""Files below: reads the workflows that steps of a file run, as their files are now. Free of Qt."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from studio.domain.errors import StudioError
from studio.domain.workflows import Workflow
from studio.workflows.child_runs import MOST_DEEP
from studio.workflows.reader import WorkflowText, digest_of, read_workflow_text
from studio.workflows.run_files import RunFiles

from .nested_graph import can_unfold


class FilesBelow:
    """What was read is kept: a text is read again only where it is another one."""

    def __init__(self, files: RunFiles) -> None:
        self._files = files
        self._known: dict[Path, WorkflowText] = {}

    async def read(
        self, workflow: Workflow, folder: Path, unfolded: Collection[str]
    ) -> dict[str, WorkflowText]:
        """The workflows of its steps by their paths, and those of the steps that are unfolded.

        A file that is not there, or that cannot be read, is left out.
        """
        found: dict[str, WorkflowText] = {}
        left = [("", workflow)]
        while left:
            above, part = left.pop()
            for step in filter(can_unfold, part.steps):
                path = f"{above}{step.id}"
                text = await self.of(step.target, folder)
                if text is None or text.workflow is None or path.count("/") >= MOST_DEEP:
                    continue
                found[path] = text
                if path in unfolded:
                    left.append((f"{path}/", text.workflow))
        return found

    async def of(self, name: str, folder: Path) -> WorkflowText | None:
        """The workflow that a step names; None if it cannot be read."""
        try:
            path = await self._files.locate(name, folder)
            text = await self._files.text(path, folder)
        except StudioError:
            return None
        known = self._known.get(path)
        if known is None or known.workflow is None or known.workflow.digest != digest_of(text):
            known = await asyncio.to_thread(read_workflow_text, text, path.stem, str(path))
            self._known[path] = known
        return known
