"""Puts the pieces together and opens one door."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from studio.domain.errors import ConfigurationError, StudioError
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths

if TYPE_CHECKING:
    from argparse import Namespace

    from studio.agent.engine import Engine


def main(options: Namespace | None) -> int:
    """The command ``agent-studio``, as it was parsed; returns the exit code."""
    paths = Paths.default()
    log_to(paths)
    try:
        if options is None or options.command is None:
            return _window(paths)
        if options.command == "config":
            return asyncio.run(_config(options, paths))
        if options.command == "simulate":
            return asyncio.run(_simulate(options.port))
        if options.command == "doctor":
            from studio.cli.commands.doctor import doctor

            return asyncio.run(doctor(paths, options))
        if options.command == "serve":
            return asyncio.run(_serve(options, paths))
        if options.command == "acp":
            return asyncio.run(_editor(options.agent, paths))
        return asyncio.run(_terminal(options, paths))
    except KeyboardInterrupt:
        return 130
    except StudioError as error:
        print(error, file=sys.stderr)
        return 1


async def build(paths: Paths, settings: SettingsFile) -> Engine:
    """Open what is stored and make every piece; raises StorageError."""
    assembly = await asyncio.to_thread(_assembly)
    return await assembly(paths, settings)


def _assembly() -> Callable[[Paths, SettingsFile], Awaitable[Engine]]:
    """The heavy imports wait for this call, so that the window is there first."""
    from studio.agent.bootstrap import build

    return build


async def _settings(paths: Paths) -> SettingsFile:
    settings = SettingsFile(paths.settings)
    await settings.load()
    return settings


async def _studio(paths: Paths) -> Engine:
    return await build(paths, await _settings(paths))


async def _terminal(options: Namespace, paths: Paths) -> int:
    gc.disable()  # imports make no garbage
    from studio.cli import command

    studio = await _studio(paths)
    gc.freeze()
    gc.enable()
    try:
        studio.on_problem(lambda text: print(text, file=sys.stderr))
        return await command(studio, options)
    finally:
        await studio.close()


async def _config(options: Namespace, paths: Paths) -> int:
    from studio.cli.commands.config import config

    return await config(await _settings(paths), paths, options)


async def _editor(agent: str, paths: Paths) -> int:
    from studio.acp import serve

    studio = await _studio(paths)
    try:
        studio.on_problem(lambda text: print(text, file=sys.stderr))
        await serve(studio, agent)
    finally:
        await studio.close()
    return 0


async def _serve(options: Namespace, paths: Paths) -> int:
    from studio.server.command import serve

    return await serve(lambda: _studio(paths), options, paths)


async def _simulate(port: int) -> int:
    from studio.simulator import serve

    try:
        await serve(port, show=lambda line: print(line, flush=True))
    except BrokenPipeError:  # nobody reads what it shows
        raise
    except OSError as error:
        raise ConfigurationError(f"Port {port} cannot be used: {error.strerror}.") from error
    return 0


class _Faults(logging.Handler):
    """Writes to a file without keys; made with the first fault, for few starts see one."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.WARNING)
        self._path = path
        self._file: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self._file is None:
            self._file = self._open()
        self._file.handle(record)

    def _open(self) -> logging.Handler:
        from logging.handlers import RotatingFileHandler

        from studio.domain.redaction import redact

        class Redacted(logging.Formatter):
            def format(self, record: logging.LogRecord) -> str:
                return redact(super().format(record))

        file = RotatingFileHandler(
            self._path, maxBytes=1_000_000, backupCount=1, encoding="utf-8", delay=True
        )
        file.setFormatter(Redacted("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        return file


def log_to(paths: Paths) -> None:
    """Faults of the program go to a file, without keys, and never onto the terminal."""
    logging.raiseExceptions = False  # a full disk is no reason to write to the terminal
    logging.getLogger().addHandler(_Faults(paths.logs / "studio.log"))


def _window(paths: Paths) -> int:
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
    gc.disable()  # imports make no garbage; ``run`` turns it on again
    from studio.ui.app.main import run

    return run(paths, build)
