"""``agent-studio cluster``: other computers work on items with keys of their own (W-59)."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import CANCELLED, DONE
from studio.cli.parser import CommandParser
from studio.cli.workflow_begin import begin, carry_out, go_on, resume_arguments, run_arguments
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.cli.console import Console
    from studio.domain.jsonvalue import JsonObject

ADDRESS = "127.0.0.1:8790"


def arguments(parser: CommandParser) -> None:
    found = parser.add_subcommands(
        {
            "invite": "write the file that a worker joins with",
            "uninvite": "take the invitations of a worker back",
            "start": "run a workflow whose items go to workers",
            "resume": "go on with a run, its items go to workers",
            "join": "work for another computer, with the keys of this one",
            "status": "show the workers, their load and their speed",
            "stop": "pause the run, and send the workers away",
        }
    )
    invite = found["invite"]
    invite.description = (
        "Write a file with a certificate of this computer's own authority. Whoever has the file "
        "may join: take it to the worker by a safe way, and keep it as you keep a password."
    )
    invite.add_argument("name", metavar="NAME", help="what the worker is called")
    invite.add_argument("--address", default=ADDRESS, metavar="HOST:PORT", help="of this computer")
    invite.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: NAME.invitation"
    )
    uninvite = found["uninvite"]
    uninvite.description = (
        "Nobody joins with the invitations of this worker any more; a worker that is there with "
        "one is sent away, and what it was asked goes to another."
    )
    uninvite.add_argument("name", metavar="NAME", help="what the worker is called")
    start = found["start"]
    start.description = (
        "Run a workflow as `batch run` does, and let workers answer for agents without tools. "
        "This computer alone has the run, its limits and its results."
    )
    run_arguments(start)
    resume_arguments(found["resume"])
    for name in ("start", "resume"):
        found[name].add_argument(
            "--listen",
            default=ADDRESS,
            metavar="HOST:PORT",
            help=f"where workers join, 0.0.0.0:8790 for other computers; default: {ADDRESS}",
        )
    join = found["join"]
    join.add_argument("invitation", type=Path, metavar="FILE", help="the invitation")
    join.add_argument("--address", default="", metavar="HOST:PORT", help="another than it names")
    for name in ("start", "resume", "status"):
        found[name].add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Let workers join, and work for others."""
    match options.what:
        case "invite":
            return await _invite(context, options)
        case "uninvite":
            return await _uninvite(context, options)
        case "join":
            return await _join(context, options)
        case "status" | "stop":
            return await _tell(context, options)
        case _:
            return await _coordinate(context, options)


async def _invite(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.workflows.cluster.certificates import invite

    file: Path = options.output or Path(f"{options.name}.invitation")
    if file.exists():
        raise ConfigurationError(f"{file} is there already.")
    await asyncio.to_thread(invite, _folder(context), options.name, options.address, file)
    context.console.say(
        f"{file} is for {options.name} alone. There: agent-studio cluster join {file.name}"
    )
    return DONE


async def _uninvite(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.workflows.cluster.certificates import take_back
    from studio.workflows.cluster.control import ask

    folder = _folder(context)
    await asyncio.to_thread(take_back, folder, options.name)
    with suppress(ConfigurationError):  # none is running
        await ask(folder, "invitations")
    context.console.say(f"Nobody joins as {options.name} any more, until you invite them anew.")
    return DONE


async def _coordinate(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.workflows.cluster import control
    from studio.workflows.cluster.certificates import coordinator_identity, taken_back
    from studio.workflows.cluster.coordinator import Coordinator

    console, folder = context.console, _folder(context)
    identity = await asyncio.to_thread(coordinator_identity, folder)
    coordinator, stopped = Coordinator(console.say), False
    coordinator.taken_back = partial(taken_back, folder)
    await coordinator.start(options.listen, identity)
    try:
        engine = await context.engine()
        engine.services.add(coordinator)
        opened = begin if options.what == "start" else go_on
        runs, runner = await opened(context, options)
        pausing: list[asyncio.Task[None]] = []

        def stop() -> None:
            nonlocal stopped
            stopped = True
            pausing.append(asyncio.create_task(runner.pause("You stopped the cluster.")))

        coordinator.on_stop, coordinator.run_id = stop, runner.run.id
        await asyncio.to_thread(control.write_address, folder, coordinator.address)
        console.say(f"Workers join at {coordinator.address}.")
        return await carry_out(context, options, runs, runner)
    finally:
        control.remove_address(folder)
        await coordinator.close(leave=stopped)


async def _join(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.cli.console import on_signals
    from studio.workflows.cluster.certificates import read_invitation
    from studio.workflows.cluster.worker import Worker

    invitation = await asyncio.to_thread(read_invitation, options.invitation)
    services = (await context.engine()).services
    worker = Worker(invitation, services.providers, services.keychain, context.console.say)
    work = asyncio.ensure_future(worker.work(options.address))
    with on_signals({"SIGINT": work.cancel, "SIGTERM": work.cancel}):
        await asyncio.wait([work])
    if work.cancelled():
        return CANCELLED
    work.result()
    context.console.say("The coordinator needs no more work.")
    return DONE


async def _tell(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.workflows.cluster.control import ask

    console = context.console
    told = await ask(_folder(context), options.what)
    if options.what == "stop":
        console.say("The run is paused, and the workers leave.")
    elif options.json:
        console.write_json(told, indent=2)
    else:
        _show(console, told)
    return DONE


def _show(console: Console, told: JsonObject) -> None:
    console.row(
        f"{told['address']}: {told['done']:,} items done, {told['open']:,} under way, "
        f"{told['items_a_second']:,.1f} a second"
    )
    workers = told["workers"]
    for one in workers if isinstance(workers, list) else ():
        assert isinstance(one, dict)
        load = "" if one["load"] is None else f", load {one['load']:.1f} of {one['cores']}"
        problem = f": {one['problem']}" if one["problem"] else ""
        console.row(
            f"{one['name']}  {one['done']:,} done, {one['open']} of {one['at_a_time']} under way, "
            f"{one['items_a_second']:,.1f} a second{load}{problem}"
        )
    if not workers:
        console.row("No worker has joined.")


def _folder(context: CommandContext) -> Path:
    return context.paths.data / "cluster"
