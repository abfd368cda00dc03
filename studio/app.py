"""The program's entry: starts the window, or runs a command in the terminal."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studio.domain.errors import StudioError
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths

if TYPE_CHECKING:
    from argparse import Namespace
    from types import ModuleType

    from studio.agent.engine import Engine
    from studio.agent.extension_sources import ExtensionSources
    from studio.cli.command_context import CommandContext
    from studio.domain.events import Event
    from studio.tools import Result


def main(options: Namespace | None, wanted: str = "") -> int:
    """The command ``agent-studio``, as it was parsed; returns the exit code.

    ``wanted`` is what the window is for: a folder, a link or ``--quick-ask``.
    """
    paths = Paths.default()
    log_to(paths)
    try:
        if options is not None and options.smoke:
            return _try_out(Path(options.smoke))
        if options is None or options.command is None:
            return _window(paths, wanted)
        return asyncio.run(_command(options, paths))
    except KeyboardInterrupt:
        return 130
    except StudioError as error:
        from studio.cli.console import visible_lines

        print(visible_lines([str(error)]), file=sys.stderr)
        return 1


async def build(paths: Paths, settings: SettingsFile) -> Engine:
    """Open what is stored and make every piece; raises StorageError."""
    build_engine, sources = await asyncio.to_thread(_import_parts, paths)
    return await build_engine(paths, settings, sources)


async def _run_workflow(engine: Engine, *call: Any) -> Result:
    """Do a tool call that is a workflow."""
    return await (await asyncio.to_thread(_workflow_tools)).run_for_call(engine, *call)


async def _late_run(engine: Engine, *call: Any) -> list[Event]:
    """Tell what came of such a call that the end of a program broke off."""
    return await (await asyncio.to_thread(_workflow_tools)).late_result(engine, *call)


def _workflow_tools() -> ModuleType:
    """What calls that are workflows need; it is imported with the first one. Blocks."""
    from studio.workflows import workflow_tools

    return workflow_tools


def _import_parts(
    paths: Paths,
) -> tuple[
    Callable[[Paths, SettingsFile, ExtensionSources], Awaitable[Engine]],
    ExtensionSources,
]:
    """Import the engine, which takes longer than showing an empty window, and what finds packs,
    skills, commands and hooks."""
    from studio.agent.bootstrap import build
    from studio.agent.extension_sources import ExtensionSources
    from studio.extensions.finder import ExtensionFinder
    from studio.extensions.hooks.finder import HookFinder, pack_hooks
    from studio.extensions.packs.brought import brought_packs, code_places
    from studio.extensions.packs.host import HostEntries, OwnFiles, find_uv
    from studio.extensions.packs.installed import InstalledPacks
    from studio.extensions.packs.loading import ProgramPacks

    packs = InstalledPacks(paths.packs, lambda: brought_packs(paths.shipped_packs))
    own = OwnFiles(paths.tools, paths.data / "tools")
    hosts = HostEntries(packs, lambda: find_uv(paths.home, paths.programs), own)
    sources = ExtensionSources(
        extensions=ExtensionFinder(paths, packs.places).read,
        hooks=HookFinder(paths, lambda: pack_hooks(packs)).read,
        pack_places=packs.places,
        pack_servers=packs.servers,
        pack_hosts=hosts,
        pack_code=ProgramPacks(lambda: code_places(packs), hosts),
        once=packs.once,
        run_workflow=_run_workflow,
        late_run=_late_run,
        services=(packs, hosts),
    )
    return build, sources


async def _command(options: Namespace, paths: Paths) -> int:
    from studio.cli import run_command
    from studio.cli.command_context import CommandContext

    context = CommandContext(
        paths, build, {"serve": _serve, "acp": _serve_editor, "mcp": _serve_mcp}
    )
    try:
        return await run_command(options, context)
    finally:
        await context.close()


async def _serve(context: CommandContext, options: Namespace) -> int:
    from studio.server.command import serve

    return await serve(context.new_engine, options, context.paths)


async def _serve_editor(context: CommandContext, options: Namespace) -> int:
    from studio.acp import serve

    await serve(await context.engine(), options.agent)
    return 0


async def _serve_mcp(context: CommandContext, options: Namespace) -> int:
    from studio.server.mcp.stdio import serve

    return await serve(await context.engine(), options)


class _LogFile(logging.Handler):
    """Writes log records to a file, without secrets. The file is opened with the first record."""

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

        from studio.domain.redaction import without_secrets

        class Redacted(logging.Formatter):
            def format(self, record: logging.LogRecord) -> str:
                return without_secrets(super().format(record))

        file = RotatingFileHandler(
            self._path, maxBytes=1_000_000, backupCount=1, encoding="utf-8", delay=True
        )
        file.setFormatter(Redacted("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        return file


def log_to(paths: Paths) -> None:
    """Send warnings and errors of the program to a file and never to the terminal."""
    logging.raiseExceptions = False  # a full disk is no reason to write to the terminal
    logging.getLogger().addHandler(_LogFile(paths.logs / "studio.log"))


def _try_out(picture: Path) -> int:
    import tempfile

    from studio.ui.app.qt_import import import_qt

    import_qt()
    with tempfile.TemporaryDirectory() as home:
        from studio.ui.app.smoke import try_out

        return try_out(Paths.below(Path(home)), build, picture.absolute())


def _window(paths: Paths, wanted: str) -> int:
    if importlib.util.find_spec("PySide6") is None:
        print(
            "The window is not installed: pip install agent-studio. "
            'In a terminal use: agent-studio run "…"',
            file=sys.stderr,
        )
        return 1
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
    from studio.storage.crash_reports import CrashReports
    from studio.ui.app.opening import start_for
    from studio.ui.app.second_start import raise_first, wait_for_turn

    start = start_for(wanted)
    with wait_for_turn(paths) as turn:
        if raise_first(paths, start):
            return 0
        crashes = CrashReports(paths.logs)
        crashes.watch()
        sys.excepthook = crashes.hook(sys.excepthook)
        try:
            from studio.ui.app.qt_import import import_qt

            import_qt()
            from studio.ui.app.main import run

            return run(paths, build, start, crashes, turn.close)
        except Exception as error:
            if not isinstance(error, StudioError):
                crashes.ended_by(error)
            turn.close()  # a later start does not wait until this has been read
            with suppress(ImportError):  # Qt cannot be loaded
                from studio.ui.app.start_failure import show_failure

                show_failure(error, crashes.path)
            raise
