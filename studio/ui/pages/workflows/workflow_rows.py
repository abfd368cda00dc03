"""The rows of the gallery of workflows, by where they are from. Free of Qt."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.ui.engine_texts import tr_engine
from studio.ui.pages.files.row import FileRow, in_sections
from studio.ui.translation import tr, tr_plural
from studio.workflows.workflow_files import WorkflowFile


def rows_of(
    files: Sequence[WorkflowFile], unsaved: Collection[Path], folder: Path | None
) -> list[FileRow]:
    return in_sections([_row(one, one.path in unsaved) for one in files], folder)


def _row(file: WorkflowFile, unsaved: bool) -> FileRow:
    about = ""
    if file.workflow is not None:
        count = len(file.workflow.steps) + file.broken
        steps = tr_plural("{count} step", "{count} steps", count)
        about = tr_engine(file.workflow.description) or steps
    return FileRow(
        file.path,
        escape_line(file.name, 80),
        about=escape_line(about, 200),
        icon="workflow",
        origin=file.origin,
        problem=tr_engine(file.problem),
        unsaved=unsaved,
        tag=tr("Mission") if file.workflow is not None and file.workflow.done_when else "",
    )
