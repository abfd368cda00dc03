"""``agent-studio audit``: every call of a tool, who allowed it, what it came to (L-15)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import datetime

from studio.agent.audit_export import audit_line, export, pages
from studio.agent.engine import Engine
from studio.cli.console import Console
from studio.cli.exit_codes import DONE
from studio.domain.errors import ConfigurationError
from studio.storage.sessions.audit_log import AuditEntry, AuditFilter

from .sessions import LAST, find_session_id

_LONG = 60
"""Characters of a target in a table."""


async def audit(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    """Oldest first: a line a call, or JSON, or JSONL, to the terminal or into a file."""
    wanted = AuditFilter(
        tool=options.tool or "",
        agent=options.agent or "",
        states=tuple(options.state),
        since=options.since,
        until=options.until,
        text=options.text or "",
    )
    if options.session is not None:
        wanted = replace(wanted, session_id=await _whole_id(studio, options.session))
    if options.output is not None:
        count = await export(studio.store, wanted, options.output)
        console.say(f"{count:,} {'call' if count == 1 else 'calls'} in {options.output}")
        return DONE
    if options.json:
        found = [entry async for page in pages(studio.store, wanted) for entry in page]
        console.write_json([entry.to_json() for entry in found])
        return DONE
    none = True
    async for page in pages(studio.store, wanted):
        none = False
        for entry in page:
            console.write((audit_line(entry) if options.jsonl else _row(entry)) + "\n")
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


async def _whole_id(studio: Engine, start: str) -> str:
    """Like ``listings.whole_id``, also for a session that is deleted."""
    if start in ("", LAST):
        return await find_session_id(studio, start)
    found = await studio.store.audited(start)
    if start in found:
        return start
    if len(found) != 1:
        many = "more than one session" if found else "no session"
        raise ConfigurationError(
            f"There is {many} in the audit with an id that begins with {start}."
        )
    return found[0]
