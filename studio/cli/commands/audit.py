"""``agent-studio audit``: lists tool calls, who allowed them and their results (L-15)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import SESSION, CommandParser, day

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.storage.sessions.audit_log import AuditEntry

_LONG = 60
"""The most characters of a target in the table."""


def arguments(parser: CommandParser) -> None:
    from studio.storage.sessions.audit_log import AuditState

    parser.description = (
        "Every call of a tool, oldest first: its arguments without secrets, what it came to, "
        "and who allowed it. Calls of deleted sessions stay here."
    )
    parser.add_argument("--tool", metavar="TOOL", help="of one tool")
    parser.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")
    parser.add_argument("--agent", metavar="AGENT", help="of one agent")
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        choices=get_args(AuditState),
        metavar="STATE",
        help=f"{', '.join(get_args(AuditState))}; may be repeated",
    )
    parser.add_argument("--since", type=day, default=0.0, metavar="DATE", help="from a day on")
    parser.add_argument("--until", type=day, default=0.0, metavar="DATE", help="before a day")
    parser.add_argument("--text", metavar="WORDS", help="with these words anywhere in it")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON array")
    form.add_argument("--jsonl", action="store_true", help="print one JSON object a line")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write JSONL to a file")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Print calls, oldest first, as lines or JSON, or write them to a file as JSONL."""
    from studio.agent.audit_export import export, pages
    from studio.storage.sessions.audit_log import AuditFilter

    engine, console = await context.engine(), context.console
    wanted = AuditFilter(
        tool=options.tool or "",
        agent=options.agent or "",
        states=tuple(options.state),
        since=options.since,
        until=options.until,
        text=options.text or "",
    )
    if options.session is not None:
        wanted = replace(wanted, session_id=await _find_session_id(engine, options.session))
    if options.output is not None:
        count = await export(engine.store, wanted, options.output)
        console.say(f"{count:,} {'call' if count == 1 else 'calls'} in {options.output}")
        return DONE
    if options.json:
        found = [entry async for page in pages(engine.store, wanted) for entry in page]
        console.write_json([entry.to_json() for entry in found])
        return DONE
    none = True
    async for page in pages(engine.store, wanted):
        none = False
        for entry in page:
            if options.jsonl:
                console.write_json(entry.to_json())
            else:
                console.row(_row(entry))
    if none:
        console.say("There is no such call." if wanted != AuditFilter() else "No tool was called.")
    return DONE


def _row(entry: AuditEntry) -> str:
    when = datetime.fromtimestamp(entry.at).strftime("%Y-%m-%d %H:%M:%S")
    target = " ".join(entry.target.split())
    target = target if len(target) <= _LONG else f"{target[: _LONG - 1]}…"
    decided = f" — {entry.decided_by}" if entry.decided_by else ""
    took = f"{entry.seconds:.1f} s" if entry.seconds is not None else ""
    return (
        f"{when}  {entry.session_id[:8]}  {entry.state:<9}  {took:>8}  "
        f"{entry.agent}: {f'{entry.tool} {target}'.rstrip()}{decided}"
    )


async def _find_session_id(engine: Engine, start: str) -> str:
    """Find a session like ``find_session_id``, also one that is deleted."""
    from studio.cli.saved_sessions import LAST, find_session_id, only_session

    if start in ("", LAST):
        return await find_session_id(engine, start)
    return only_session(await engine.store.audited(start), start, " in the audit")
