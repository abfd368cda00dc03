"""Passed drafts: which step passed with all that a run leaves as drafts, if one did (W-26).

It is told from what is recorded: the step saw exactly these contents on its desk, and its command
ended with exit code 0, or its agent said in its outputs that it passed.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from studio.agent.changes.draft_store import OPEN
from studio.agent.engine import Engine
from studio.domain.drafts import BINARY, FileDraft
from studio.domain.errors import StorageError, ToolFailed
from studio.domain.jsonvalue import Json
from studio.domain.records import dataclass
from studio.domain.runs import Run
from studio.domain.sessions import Caller
from studio.domain.workflows import Step, Workflow
from studio.storage.snapshots.blob_store import digest_of
from studio.tools import Workspace
from studio.tools.drafts.draft_write import DraftConflict, read_stamp
from studio.tools.workspace.encodings import encode

from .change_merge import ChangeMerge, DeskContents
from .plan import Plan


@dataclass(frozen=True, slots=True)
class PassedDrafts:
    """The step ``label`` passed with the ``count`` files that the steps before it had changed.

    These are ``all`` files that wait, or the step has made others beside. ``agent`` is who says
    that it passed, empty for a command. ``bases`` are the digests of what the drafts change, by
    path; empty for a new file.
    """

    label: str
    agent: str
    count: int
    all: bool
    folder: str
    bases: tuple[tuple[str, str], ...]


async def passed_drafts(engine: Engine, run: Run, workflow: Workflow) -> PassedDrafts | None:
    """The last step that passed with all that waits now; None where none is known to.

    So it is where a draft was decided or edited, or where something waits that is on no desk, and
    where a run below may have changed something beside.
    """
    below = any(made.run_id for one in run.steps.values() for made in one.tries)
    drafts = await _waiting(engine, run) if run.drafts and not below else []
    if not drafts or run.started is None:
        return None
    plan = Plan(workflow)
    contents = DeskContents(engine.services.desk_contents, engine.services.folders.contents)
    merge = ChangeMerge(plan, run, contents)

    def digests() -> dict[str, str]:
        return {one.path: _digest(one) for one in drafts}

    try:
        made = await asyncio.to_thread(digests)
        for step in reversed(workflow.steps):
            agent = _passed(step, run)
            if agent is None or not _began_after(step, run, plan.every[step.id]):
                continue
            own = {file.path for file in run.changes[step.id, ""].files}
            needed = merge.ordered(plan.every[step.id])
            seen, clashes = await asyncio.to_thread(merge.fold, needed)
            given = {path: digest for path, digest in made.items() if path not in own}
            if clashes or own & seen.keys() or not given or seen != given:
                continue
            bases = tuple((one.path, one.base_digest) for one in drafts)
            count, folder = len(given), run.started.folder
            return PassedDrafts(step.label, agent, count, not own, folder, bases)
    except StorageError:  # the contents are gone: nothing is known of them any more
        pass
    return None


async def changed_since(tested: PassedDrafts) -> int:
    """How many of the files are not as they were any more: their drafts cannot be approved so."""

    def look() -> int:
        workspace = Workspace(Path(tested.folder))
        return sum(_of_folder(workspace, path) != base for path, base in tested.bases)

    return await asyncio.to_thread(look)


def _of_folder(workspace: Workspace, path: str) -> str | None:
    """The digest of a file, empty where there is none; None where it cannot be read or made."""
    try:  # as an approval reads it: of a pipe that is there now, the end may never come
        place = workspace.resolve(path)
        stamp = read_stamp(place, path)
    except (DraftConflict, ToolFailed):
        return None
    if stamp is not None:
        return stamp.digest
    above = next((one for one in place.parents if one.exists()), None)
    if above is None:  # a drive that is gone; no thread may raise StopIteration
        return None
    return "" if above.is_dir() else None  # no file can be made below another one


async def _waiting(engine: Engine, run: Run) -> list[FileDraft]:
    """The drafts of a run; none where one of them is decided, or another session has some too."""
    found: list[FileDraft] = []
    for info in await engine.store.called_by(Caller("run", run.id)):
        entries = await engine.store.drafts(info.id)
        decided = await engine.store.drafts(info.id, done=True)
        if info.id != run.drafts and not (entries or decided):
            continue
        if info.id != run.drafts or decided:
            return []
        made = (await engine.sessions.transcript(info.id)).drafts
        known = {one.id: one for one in made if isinstance(one, FileDraft)}
        found = [known[one.draft_id] for one in entries if one.draft_id in known]
        if len(found) != len(entries) or any(one.status not in OPEN for one in found):
            return []
    return found


def _digest(draft: FileDraft) -> str:
    if draft.action == "delete":
        return ""
    if draft.encoding == BINARY:
        return digest_of(draft.after.encode("latin-1"))
    return digest_of(encode(draft.after, draft.encoding))


def _passed(step: Step, run: Run) -> str | None:
    """Who says that a step passed on its desk, empty for its command; None where it did not."""
    one = run.step(step.id)
    if step.for_each or step.matrix or step.proves is not None or one.state != "done":
        return None
    if (step.id, "") not in run.changes or one.in_turns or one.linked:
        return None
    if step.kind == "run":  # one that a kill broke off is done without an exit code
        made = one.outputs
        return "" if isinstance(made, dict) and made.get("exit_code") == 0 else None
    return step.target if step.kind == "agent" and _says_passed(step, one.outputs) else None


def _says_passed(step: Step, outputs: Json) -> bool:
    properties = (step.outputs or {}).get("properties")
    declared = properties.get("passed") if isinstance(properties, dict) else None
    is_flag = isinstance(declared, dict) and declared.get("type") == "boolean"
    return is_flag and isinstance(outputs, dict) and outputs.get("passed") is True


def _began_after(step: Step, run: Run, needed: frozenset[str]) -> bool:
    """Whether all that a step needs was over when its last try began, and is as it was then."""
    last = run.step(step.id).last
    before = [one for one in run.steps.values() if one.step in needed]
    ended = (one.last.ended for one in before if one.last is not None)
    return (
        last is not None and all(one.over for one in before) and max(ended, default=0) <= last.began
    )
