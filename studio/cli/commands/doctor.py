"""``agent-studio doctor``: looks at everything the program needs, and says what to do.

It needs none of what it looks at: no database, no settings, no keychain, no
network. What each check finds is a ``Finding``; ``doctor_house`` looks at what
is on this computer, ``doctor_outside`` at providers and the network,
``doctor_display`` at what the window needs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace

from studio.cli.console import Console
from studio.cli.doctor.display import check_display
from studio.cli.doctor.finding import MARKS, Check, Finding
from studio.cli.doctor.local_checks import DISK, LocalChecks
from studio.cli.doctor.network_checks import NetworkChecks
from studio.cli.exit_codes import DONE, USAGE
from studio.domain.redaction import redact
from studio.storage.paths import Paths

WIDTH = 18
"""Columns of a check's name."""


async def doctor(paths: Paths, options: argparse.Namespace) -> int:
    """Print a line for each thing; 1 if something is broken that stops the program."""
    console = Console()
    house = LocalChecks(paths)
    settings = await house.settings()
    outside = NetworkChecks(paths, house.values, offline=options.offline)
    checks = [
        Check("Program", house.program),
        Check("Folders", house.folders, late=DISK),
        settings,
        Check("Database", house.database, late=DISK),
        Check("Keychain", outside.keychain_state, late="Restart the keychain."),
        *outside.providers(),
        Check("Network", outside.network, late="Look at the connection and its name server."),
        Check("Sandbox", house.sandbox, late="Commands of agents would wait too: docs/sandbox.md"),
        Check("Built-in model", house.builtin, late=DISK),
        Check("Display", check_display, late=DISK),
        Check("Tools", house.tools, late=f"A file in {paths.tools} does not come to its end."),
        Check("Agents", house.agents, late=DISK),
        Check("Server port", house.port, late="Look at the name server, for server_host."),
    ]
    running = [asyncio.create_task(_found(one)) for one in checks]
    found: list[Finding] = []
    stuck = False
    for task in running:
        finding, late = await task
        stuck |= late
        found.append(finding)
        if not options.json:
            _print(console, finding)
    found.append(house.clock(outside.dates))
    if options.json:
        console.write_json([asdict(one) for one in found], indent=2)
    else:
        _print(console, found[-1])
        console.say(_summary(found))
    code = USAGE if any(one.state == "broken" for one in found) else DONE
    if stuck:  # a thread that hangs would keep the program from ending
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    await outside.close()
    return code


async def _found(check: Check) -> tuple[Finding, bool]:
    """What a check finds, and whether it never came to an end."""
    task = asyncio.ensure_future(check.run())
    await asyncio.wait([task], timeout=check.seconds)
    if not task.done():
        task.cancel()
        text = f"no answer within {check.seconds:g} s"
        return Finding(check.name, "warning", text, check.late), True
    try:
        finding = task.result()
        return replace(finding, text=redact(finding.text)), False
    except Exception as error:  # a doctor who falls over says of nothing else what is wrong
        text = redact(f"could not be looked at: {type(error).__name__}: {error}")
        return Finding(
            check.name,
            "warning",
            text,
            "Run it with another home to see whether it is the data: AGENT_STUDIO_HOME",
        ), False


def _print(console: Console, finding: Finding) -> None:
    text = " ".join(finding.text.split())
    console.write(f"{MARKS[finding.state]} {finding.name:<{WIDTH}} {text}\n")
    if finding.advice:
        console.write(f"  {'':<{WIDTH}} → {' '.join(finding.advice.split())}\n")


def _summary(found: Sequence[Finding]) -> str:
    broken = [one.name for one in found if one.state == "broken"]
    warned = [one.name for one in found if one.state == "warning"]
    if broken:
        return f"Broken: {', '.join(broken)}."
    return f"Worth a look: {', '.join(warned)}." if warned else "Everything is in order."
