"""Puts the pieces together and opens one door."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from studio.domain.errors import StudioError
from studio.storage.paths import Paths
from studio.storage.settings import SettingsFile

if TYPE_CHECKING:
    from argparse import Namespace

    from studio.agent.studio import Studio


def main(arguments: Sequence[str]) -> int:
    """The command ``agent-studio``; returns the exit code."""
    try:
        if not arguments:
            return _window()
        from studio.cli import parser

        options = parser().parse_args(arguments)
        if options.command is None:
            return _window()
        if options.command == "simulate":
            return asyncio.run(_simulate(options.port))
        return asyncio.run(_terminal(options))
    except KeyboardInterrupt:
        return 130
    except StudioError as error:
        print(error, file=sys.stderr)
        return 1


async def build(paths: Paths, settings: SettingsFile) -> Studio:
    """Open what is stored and make every piece; raises StorageError."""
    assembly = await asyncio.to_thread(_assembly)
    return await assembly(paths, settings)


def _assembly() -> Callable[[Paths, SettingsFile], Awaitable[Studio]]:
    """The heavy imports wait for this call, so that the window is there first."""
    from studio.agent.assembly import build

    return build


async def _terminal(options: Namespace) -> int:
    from studio.cli import command

    paths = Paths.default()
    settings = SettingsFile(paths.settings)
    await settings.load()
    studio = await build(paths, settings)
    try:
        studio.on_trouble(lambda text: print(text, file=sys.stderr))
        return await command(studio, options)
    finally:
        await studio.close()


async def _simulate(port: int) -> int:
    from studio.providers.simulator import serve

    await serve(port)
    return 0


def _window() -> int:
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY")
        or os.environ.get("WAYLAND_DISPLAY")
        or os.environ.get("QT_QPA_PLATFORM")
    ):
        print(
            "There is no display, so the window cannot open. "
            'In a terminal use: agent-studio run "…"',
            file=sys.stderr,
        )
        return 1
    from studio.ui.main import run

    return run(Paths.default(), build)
