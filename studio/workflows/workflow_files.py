"""Workflow files: which workflows there are, each a markdown file.

They come from packs, from those that ship with the program, the person's own folder, and the
``.agents/workflows`` of a project. Of the same name the last one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from studio.agent.folder_files import (
    MAX_AGENTS,
    MAX_FILE_BYTES,
    agent_paths,
    describe_problem,
    read_agent_file,
)
from studio.domain.agents import Origin
from studio.domain.extensions import PackPlace
from studio.domain.workflows import Workflow
from studio.storage.paths import Paths

from .reader import read_workflow_text

FindPacks: TypeAlias = "Callable[[str], Sequence[PackPlace]]"
"""Finds where packs have their files of a kind."""
PROJECT_WORKFLOWS = Path(".agents") / "workflows"
MOST_FILES = MAX_AGENTS
"""Files that are read in one place."""


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """One file; ``workflow`` is None where ``problem`` says why it cannot be read.

    ``broken`` counts the steps that have a mistake, which are not among the workflow's.
    """

    path: Path
    origin: Origin
    workflow: Workflow | None = None
    problem: str = ""
    broken: int = 0

    @property
    def name(self) -> str:
        return self.workflow.name if self.workflow is not None else self.path.stem


def workflow_places(
    paths: Paths, folder: Path | None, packs: FindPacks
) -> list[tuple[Path, Origin]]:
    """The folders that have workflows, the one that counts most last."""
    places: list[tuple[Path, Origin]] = [
        *((one.path, "pack") for one in packs("workflows")),
        (paths.resources / "workflows", "shipped"),
        (paths.workflows, "own"),
    ]
    if folder is not None:
        places.append((folder / PROJECT_WORKFLOWS, "folder"))
    return places


def find_workflows(paths: Paths, folder: Path | None, packs: FindPacks) -> list[WorkflowFile]:
    """All files, also those that cannot be read. Blocks."""
    return [
        _read(path, origin, folder)
        for place, origin in workflow_places(paths, folder, packs)
        for path in sorted(agent_paths(place))[:MOST_FILES]
    ]


def _read(path: Path, origin: Origin, folder: Path | None) -> WorkflowFile:
    try:
        if origin == "folder" and not path.resolve().is_relative_to((folder or path).resolve()):
            return WorkflowFile(path, origin, problem="A link that leads out of the folder.")
        data = read_agent_file(path)
    except (OSError, RuntimeError, ValueError) as error:
        known = error if isinstance(error, OSError | ValueError) else OSError(str(error))
        return WorkflowFile(path, origin, problem=describe_problem(path, known))
    if len(data) > MAX_FILE_BYTES:
        return WorkflowFile(path, origin, problem=f"Larger than {MAX_FILE_BYTES:,} bytes.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return WorkflowFile(path, origin, problem="This is not UTF-8 text.")
    found = read_workflow_text(text, path.stem, str(path))
    if found.workflow is None:
        return WorkflowFile(path, origin, problem=str(found.problems[0]))
    return WorkflowFile(path, origin, found.workflow, broken=len(found.broken))
