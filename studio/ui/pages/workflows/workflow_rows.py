"""The rows of the gallery of workflows, by where they are from. Free of Qt."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Origin
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.pages.files.row import FileRow
from studio.ui.translation import tr, tr_later, tr_plural
from studio.workflows.workflow_files import WorkflowFile

SECTIONS: tuple[tuple[Origin, str], ...] = (
    ("folder", tr_later("In {folder}")),
    ("own", tr_later("Your library")),
    ("pack", tr_later("From packs")),
    ("shipped", tr_later("Come with the studio")),
)


def rows_of(
    files: Sequence[WorkflowFile], unsaved: Collection[Path], folder: Path | None
) -> list[FileRow]:
    """A heading for each place that has files, and its files by name."""
    found: list[FileRow] = []
    for key, words in SECTIONS:
        rows = [_row(one, one.path in unsaved) for one in files if one.origin == key]
        if rows:
            name = short_path(str(folder)) if folder else ""
            found.append(FileRow(None, tr(words).format(folder=name)))
            found += sorted(rows, key=lambda row: row.name.casefold())
    return found


def _row(file: WorkflowFile, unsaved: bool) -> FileRow:
    about = ""
    if file.workflow is not None:
        steps = tr_plural("{count} step", "{count} steps", len(file.workflow.steps))
        about = tr_engine(file.workflow.description) or steps
    return FileRow(
        file.path,
        escape_line(file.name, 80),
        about=escape_line(about, 200),
        icon="workflow",
        origin=file.origin,
        problem=tr_engine(file.problem),
        unsaved=unsaved,
    )
