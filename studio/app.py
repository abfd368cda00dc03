"""Puts the pieces together and opens one door."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from studio.agent.connections import Connections, Local
from studio.agent.studio import Studio
from studio.domain.errors import StorageError, StudioError
from studio.providers.base import Provider
from studio.providers.catalogue import Catalogue, load_snapshot
from studio.providers.http import Http
from studio.storage.database import Database
from studio.storage.keychain import Keychain, child_environment
from studio.storage.paths import Paths
from studio.storage.settings import SettingsFile

if TYPE_CHECKING:
    from studio.providers.demo import DemoProvider


def main(arguments: Sequence[str]) -> int:
    """The command ``agent-studio``; returns the exit code."""
    from studio.cli import parser

    options = parser().parse_args(arguments)
    try:
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
    try:
        await asyncio.to_thread(paths.create)
    except OSError as error:
        raise StorageError(f"The folder {paths.data} cannot be made: {error.strerror}.") from error
    database = Database(paths.database)
    await database.open()
    http = Http()
    keychain = Keychain()
    _, snapshot = await asyncio.to_thread(load_snapshot, paths.resources / "models.json")
    catalogue = Catalogue(paths.models, snapshot)
    local = {"simulator": _demo(http), "builtin": _builtin(http, paths, settings)}
    studio = Studio(
        paths=paths,
        settings=settings,
        keychain=keychain,
        http=http,
        database=database,
        catalogue=catalogue,
        connections=Connections(settings, keychain, http, local),
    )
    await asyncio.to_thread(studio.discover_tools)
    return studio


def _demo(http: Http) -> Local:
    """The simulator inside this program, started with the first request."""
    running: list[DemoProvider] = []

    async def start() -> Provider:
        from studio.providers.demo import DemoProvider

        if not running:
            running.append(await DemoProvider.start(http))
        return running[0]

    async def stop() -> None:
        while running:
            await running.pop().aclose()

    return Local(start, stop)


def _builtin(http: Http, paths: Paths, settings: SettingsFile) -> Local:
    """The built-in model, in a child process that starts with the first request."""
    made: list[tuple[str, Provider, Callable[[], Awaitable[None]]]] = []

    async def start() -> Provider:
        from studio.providers.builtin import BuiltinModel, BuiltinProvider

        chosen = settings.values.builtin_model
        if made and made[0][0] != chosen:
            await stop()
        if not made:
            model = BuiltinModel(
                Path(chosen) if chosen else None, paths.resources, child_environment()
            )
            made.append((chosen, BuiltinProvider(model, http), model.aclose))
        return made[0][1]

    async def stop() -> None:
        while made:
            await made.pop()[2]()

    return Local(start, stop)


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
