"""``agent-studio doctor``: checks what the program needs, and says what to do.

It depends on nothing that it checks: no database, no settings, no keychain, no network.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.parser import CommandParser, wait

if TYPE_CHECKING:
    from studio.cli.console import Console
    from studio.cli.doctor import Check, Finding

WIDTH = 18
"""The width of a check's name."""


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Look at versions, how it was installed, folders, database, keychain, providers, network, "
        "sandbox, built-in model, display, tools, agents, MCP servers, packs, server, last crash "
        "and clock: a line each, and what to do. Exit code 1 if something is broken that stops the "
        "program."
    )
    parser.add_argument("--offline", action="store_true", help="do not use the network")
    parser.add_argument(
        "--timeout", type=wait, metavar="SECONDS", help="for each check; default: 2 to 5"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Print a line for each check; ends with 1 if something is broken that stops the program."""
    import asyncio

    from studio.cli.doctor import Check
    from studio.cli.doctor.display import check_display
    from studio.cli.doctor.local_checks import DISK, LocalChecks
    from studio.cli.doctor.network_checks import NetworkChecks
    from studio.processes.daemon_thread import in_daemon_thread

    paths, console = context.paths, context.console
    local = LocalChecks(paths)

    def here(
        name: str, look: Callable[[], Finding], late: str = DISK, seconds: float = 4.0
    ) -> Check:
        return Check(name, partial(in_daemon_thread, look), seconds, late)

    def started(check: Check) -> asyncio.Task[tuple[Finding, bool]]:
        return asyncio.create_task(_found(check, options.timeout or check.seconds))

    settings = started(here("Settings", local.settings, seconds=2.0))
    await settings  # the other checks need them
    network = NetworkChecks(paths, local.values, options.timeout, offline=options.offline)
    checks = [
        here("Program", local.program),
        here("Installation", local.installation),
        here("Folders", local.folders),
        here("Database", local.database),
        Check("Keychain", network.keychain, late="Restart the keychain."),
        *network.providers(),
        Check("Network", network.network, late="Look at the connection and its name server."),
        here("Sandbox", local.sandbox, "Commands of agents would wait too: docs/sandbox.md"),
        here("Built-in model", local.builtin),
        here("Display", check_display),
        here("Tools", local.tools, f"A file in {paths.tools} does not come to its end."),
        here("Agents", local.agents),
        Check("MCP servers", partial(network.servers, local.servers), late=DISK),
        here("Packs", local.packs),
        here("Server port", local.port, "Look at the name server, for server_host."),
        here("Last crash", local.last_crash),
    ]
    running = [started(one) for one in checks]
    running.insert(3, settings)
    found: list[Finding] = []
    stuck = False
    for task in running:
        finding, late = await task
        stuck |= late
        found.append(finding)
        if not options.json:
            _print(console, finding)
    found.append(local.clock(network.dates))
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
    await network.close()
    return code


async def _found(check: Check, seconds: float) -> tuple[Finding, bool]:
    """Run a check within a time; returns its finding, and whether it did not end."""
    import asyncio

    from studio.cli.doctor import Finding
    from studio.domain.redaction import without_secrets

    task = asyncio.ensure_future(check.run())
    await asyncio.wait([task], timeout=seconds)
    if not task.done():
        task.cancel()
        text = f"no answer within {seconds:g} s"
        return Finding(check.name, "warning", text, check.late), True
    try:
        finding = task.result()
        text, advice = without_secrets(finding.text), without_secrets(finding.advice)
        return replace(finding, text=text, advice=advice), False
    except Exception as error:  # one check that fails must not hide the others
        text = without_secrets(f"could not be looked at: {type(error).__name__}: {error}")
        advice = "Run it with another home to see whether it is the data: AGENT_STUDIO_HOME"
        return Finding(check.name, "warning", text, advice), False


def _print(console: Console, finding: Finding) -> None:
    from studio.cli.doctor import MARKS

    text = " ".join(finding.text.split())
    console.row(f"{MARKS[finding.state]} {finding.name:<{WIDTH}} {text}")
    if finding.advice:
        console.row(f"  {'':<{WIDTH}} → {' '.join(finding.advice.split())}")


def _summary(found: Sequence[Finding]) -> str:
    broken = [one.name for one in found if one.state == "broken"]
    warned = [one.name for one in found if one.state == "warning"]
    if broken:
        return f"Broken: {', '.join(broken)}."
    return f"Worth a look: {', '.join(warned)}." if warned else "Everything is in order."
