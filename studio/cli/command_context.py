"""The context of a command: opens the terminal, the settings or the engine when asked for.

Every command imports this module, so it imports nothing large itself.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from studio.agent.engine import Engine
    from studio.storage.config.settings import SettingsFile
    from studio.storage.paths import Paths

    from .console import Console

OpenEngine: TypeAlias = "Callable[[Paths, SettingsFile], Awaitable[Engine]]"
RunCommand: TypeAlias = "Callable[[CommandContext, argparse.Namespace], Awaitable[int]]"
"""Runs a command and returns its exit code."""


class CommandContext:
    """Opens for one command what it asks for, and closes it again.

    ``external`` runs the commands of packages that the command line must not import, by
    their names: the server and the editors' protocol.
    """

    def __init__(
        self,
        paths: Paths,
        open_engine: OpenEngine,
        external: Mapping[str, RunCommand] | None = None,
    ) -> None:
        self.paths = paths
        self._open_engine = open_engine
        self._external = external or {}
        self._engine: Engine | None = None

    @cached_property
    def console(self) -> Console:
        """The terminal: prints text and reads answers."""
        from .console import Console

        return Console()

    async def settings(self) -> SettingsFile:
        """The person's settings; raises StorageError."""
        from studio.storage.config.settings import SettingsFile

        settings = SettingsFile(self.paths.settings)
        await settings.load()
        return settings

    async def new_engine(self) -> Engine:
        """An engine with all tools, which the caller closes; raises StorageError."""
        engine = await self._open_engine(self.paths, await self.settings())
        await engine.refresh_tools()
        return engine

    async def engine(self) -> Engine:
        """The command's engine, opened the first time; raises StorageError.

        Its problems, a broken tool file for example, are printed on standard error.
        """
        if self._engine is None:
            gc.disable()  # imports make no garbage
            self._engine = await self.new_engine()
            gc.freeze()
            gc.enable()
            self._engine.on_problem(self.console.say)
            self.console.desk = self._engine.services.acts.desk("command line")
        return self._engine

    async def run_external(self, options: argparse.Namespace) -> int:
        """Run a command of another package; returns the exit code."""
        return await self._external[options.command](self, options)

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.close()


def chosen_folder(options: argparse.Namespace) -> Path:
    """The folder of ``--folder``, or the current one; raises ConfigurationError."""
    from pathlib import Path

    from studio.domain.errors import ConfigurationError

    folder: Path = (options.folder or Path.cwd()).resolve()
    if not folder.is_dir():
        raise ConfigurationError(f"The folder {folder} is not there.")
    return folder
