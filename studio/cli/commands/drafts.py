"""``agent-studio drafts``: lists and shows drafts, and carries out decisions (T-5)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.parser import SESSION, CommandParser
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.cli.console import Console
    from studio.domain.sessions import DraftEntry
    from studio.tools.packs.persons_act import Door

DECISIONS = ("approve", "discard", "undo")


def arguments(parser: CommandParser) -> None:
    made = parser.add_subcommands(
        {
            "list": "what waits for you, newest first",
            "show": "what a draft changes, and what its file changed to",
            "approve": "write, delete or move the files",
            "discard": "leave the files as they are",
            "undo": "put back what approved drafts changed",
            "resolve": "make a draft again where its file changed meanwhile",
            "edit": "give a draft a text of your own, in your editor",
        }
    )
    made["list"].add_argument("--done", action="store_true", help="what is decided instead")
    for name in ("show", "resolve", "edit"):
        about = "the draft's id, or its first letters"
        made[name].add_argument("ids", metavar="ID", nargs=1, help=about)
    for name in DECISIONS:
        made[name].add_argument("ids", metavar="ID", nargs="*", help="ids, or their first letters")
        made[name].add_argument("--step", metavar="STEP", help="with --run: what this step changed")
    made["discard"].add_argument("--reason", default="", help="why, which the agent is told")
    text = made["resolve"].add_mutually_exclusive_group(required=True)
    text.add_argument(
        "--use",
        choices=("merged", "draft", "file"),
        metavar="SIDE",
        help="merged: both changes; draft: as the agent wants it; file: as it is now",
    )
    text.add_argument("--from", dest="source", type=Path, metavar="FILE", help="your own text")
    made["edit"].add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="take the text from a file, - is standard input; default: $VISUAL, else $EDITOR",
    )
    for name, one in made.items():
        if name not in DECISIONS:
            one.add_argument("--json", action="store_true", help="print JSON")
        one.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")
        one.add_argument("--run", metavar="RUN", help="of one run of a workflow; without ID: all")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List, show or decide drafts; ends with 1 if a decision could not be carried out."""
    from studio.cli.drafts import agreed, decide_drafts
    from studio.cli.saved_sessions import find_session_id

    engine, console = await context.engine(), context.console
    session_id = (
        await find_session_id(engine, options.session) if options.session is not None else ""
    )
    of_run = await _of_run(engine, options)
    if options.what == "list":
        await engine.delegation.bring_back_left()
        found = await engine.store.drafts(session_id, done=options.done)
        private = await _private(engine, console)
        found = [
            one
            for one in found
            if one.session_id not in private and (of_run is None or one.draft_id in of_run)
        ]
        if options.json:
            console.write_json([asdict(entry) for entry in found])
            return DONE
        for entry in found:
            console.row(_row(entry))
        if not found:
            console.say("Nothing was decided yet." if options.done else "No draft waits for you.")
        return DONE
    known = await engine.store.drafts(session_id)
    known += await engine.store.drafts(session_id, done=True)
    private = await _private(engine, console)
    known = tuple(one for one in known if one.session_id not in private)
    if of_run is not None:
        known = tuple(one for one in known if one.draft_id in of_run)
    entries = [_entry(known, start) for start in dict.fromkeys(options.ids)]
    if not entries and of_run is not None:
        fitting = ("approved",) if options.what == "undo" else ("waiting", "conflict")
        entries = [one for one in reversed(known) if one.status in fitting]
    if not entries:
        raise ConfigurationError("Name a draft, or a run with drafts that can be decided so.")
    if options.what == "show":
        return await _show(engine, entries[0], options, console)
    if options.what not in DECISIONS:
        from studio.cli.drafts_edit import DraftEdit

        change = DraftEdit(engine, entries[0], options, console)
        return await (change.edit() if options.what == "edit" else change.resolve())
    code = DONE
    for owner in dict.fromkeys(entry.session_id for entry in entries):
        ids = [entry.draft_id for entry in entries if entry.session_id == owner]
        session = await engine.sessions.open(owner)
        verb = options.what.capitalize()
        if options.what != "discard" and not await agreed(session, ids, verb, console):
            console.say("Nothing was done.")
            return USAGE
        door: Door = "command line"
        reason = getattr(options, "reason", "")
        decided = await decide_drafts(session, ids, options.what, console, door=door, reason=reason)
        code = max(code, decided)
    return code


async def _private(engine: Engine, console: Console) -> set[str]:
    """Sessions that an agent's command reads nothing of: what is said there is about a thing of a
    pack, which says which models may see it (KZ-7)."""
    if not console.is_agents:
        return set()
    return {one.id for one in await engine.store.all() if one.subject}


async def _of_run(engine: Engine, options: argparse.Namespace) -> set[str] | None:
    """The ids of the drafts of a run, or of what one of its steps changed; None without one."""
    from studio.domain.runs import Run
    from studio.domain.sessions import Caller
    from studio.workflows.workflow_runs import WorkflowRuns

    if options.run is None:
        return None
    runs = WorkflowRuns(engine)
    run = Run(await runs.store.events((await runs.find(options.run)).id))
    step = getattr(options, "step", None)
    if step is not None and step not in {one.step for one in run.steps.values()}:
        raise ConfigurationError(f"The run has no step {step}.")
    paths = {file.path for one in run.changes.values() if one.step == step for file in one.files}
    found = set[str]()
    for info in await engine.store.called_by(Caller("run", run.id)):
        session = await engine.sessions.open(info.id)
        part = info.caller.part if info.caller is not None else ""
        for draft in session.drafts.all:
            if step is None or part == step or (not part and draft.describe().name in paths):
                found.add(draft.id)
    return found


async def _show(
    engine: Engine, entry: DraftEntry, options: argparse.Namespace, console: Console
) -> int:
    import asyncio

    from studio.cli.drafts import conflict_json, conflict_lines, draft_lines, find_draft

    session = await engine.sessions.open(entry.session_id)
    draft = find_draft(session, entry.draft_id)
    conflict = await session.review.conflict(draft.id) if draft.status == "conflict" else None
    if options.json:
        told = conflict_json(conflict) if conflict else None
        about = draft.describe()
        texts = {"before": about.before, "after": about.after, "conflict": told}
        console.write_json({**asdict(entry), **texts})
        return DONE
    lines = await asyncio.to_thread(draft_lines, draft)
    if conflict is not None:
        lines = [f"{lines[0]}: {entry.detail}", *await asyncio.to_thread(conflict_lines, conflict)]
    for line in lines:
        console.row(line)
    if conflict is not None:
        console.say(
            "",
            f"To resolve it: agent-studio drafts resolve {draft.id[:8]} "
            f"--use merged, draft or file; or drafts edit {draft.id[:8]}",
        )
    return DONE


def _row(entry: DraftEntry) -> str:
    when = datetime.fromtimestamp(entry.resolved or entry.created).strftime("%Y-%m-%d %H:%M")
    title = " ".join(entry.title.split()) or "New chat"
    return (
        f"{entry.draft_id[:8]}  {when}  {entry.status:<9}  {entry.action:<6}  "
        f"{entry.place}  ({entry.agent} in {title})"
    )


def _entry(known: Sequence[DraftEntry], start: str) -> DraftEntry:
    found = [entry for entry in known if entry.draft_id.startswith(start)]
    if len({entry.draft_id for entry in found}) != 1:
        many = "more than one draft" if found else "no draft"
        raise ConfigurationError(f"There is {many} with an id that begins with {start}.")
    if len(found) > 1:
        raise ConfigurationError(
            f"The draft {start} is in more than one session. Name it with --session."
        )
    return found[0]
