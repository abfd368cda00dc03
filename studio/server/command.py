"""The command ``agent-studio serve``: the server in a terminal, or as a window's child."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from studio.agent.permission.invisible_characters import escape_invisible
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.jsonvalue import as_object
from studio.storage.config.keychain import Keychain
from studio.storage.config.server_token import ServerToken
from studio.storage.paths import Paths

if TYPE_CHECKING:
    from studio.agent.engine import Engine

    from .http_server import HttpServer

FOLLOWED = 1.0
"""Seconds between two looks at the settings, which the window and the command change."""
COLLECTED_AFTER = 10_000
"""Objects made since the last look for garbage; Python's own 700 took a twentieth of the CPU."""
EXPOSED = (
    "Every computer that can reach this address can ask, if it has the token. What is said is "
    "not encrypted on its way."
)


async def serve(build: Callable[[], Awaitable[Engine]], options: Namespace, paths: Paths) -> int:
    """Serve until Ctrl+C, SIGTERM, or the parent's end; returns the exit code.

    A parent (``options.with_parent``) gets one line of JSON: the
    ``address``, with the ``token`` where no keychain keeps it, or the ``error``.
    Raises StudioError where there is none.
    """
    if options.show_token or options.renew_token:
        token = ServerToken(Keychain(), paths.data, file=_token_file(options))
        return await _token(token, renew=options.renew_token)
    try:
        return await _serve(build, options)
    except StudioError as error:
        if not options.with_parent:
            raise
        _tell({"error": str(error)})
        return 1


async def _serve(build: Callable[[], Awaitable[Engine]], options: Namespace) -> int:
    from studio.workflows.trigger_clock import TriggerClock, UnattendedRuns

    from .http_server import HttpServer

    engine = await build()
    try:
        engine.on_problem(lambda text: _print(text, sys.stderr))
        values = engine.settings.values
        serving = HttpServer(
            engine,
            host=options.host or values.server_host,
            port=values.server_port if options.port is None else options.port,
            folder=await served_folder(engine, options.folder),
            token_file=_token_file(options),
        )
        ended = asyncio.Event()
        with _on_signals(ended.set), _fewer_collections():
            await serving.start()
            following = asyncio.create_task(_follow(engine))
            runs = UnattendedRuns(engine)
            clock = asyncio.create_task(TriggerClock(engine, runs.begin).follow())
            try:
                if options.with_parent:
                    _watch_parent(ended.set, Parent(engine).hear)
                await _say(serving, parent=options.with_parent)
                await ended.wait()
            finally:
                following.cancel()
                clock.cancel()
                await runs.close()
                await serving.stop()
    finally:
        await engine.close()
    return 0


@contextmanager
def _fewer_collections() -> Generator[None]:
    """Look for garbage less often: an answer makes many objects, and hardly one in a circle."""
    usual = gc.get_threshold()
    gc.freeze()  # what exists now stays
    gc.set_threshold(COLLECTED_AFTER, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


async def _follow(engine: Engine) -> None:
    while True:
        await asyncio.sleep(FOLLOWED)
        await engine.refresh_settings()


def _token_file(options: Namespace) -> Path | None:
    file: Path | None = options.token_file
    return file and file.expanduser().absolute()


async def served_folder(engine: Engine, given: Path | None) -> Path:
    """The folder where agents work: the option, the setting, or an empty folder of the program."""
    named = given or engine.settings.values.server_folder
    if not named:
        return await asyncio.to_thread(engine.own_folder)
    folder = Path(named).expanduser().absolute()
    if not await asyncio.to_thread(folder.is_dir):
        raise ConfigurationError(f"There is no folder {folder}. Name another one with --folder.")
    return folder


async def _say(serving: HttpServer, *, parent: bool) -> None:
    token = await serving.token.get() if serving.needs_token else ""
    shown = token if token and not serving.token.kept else ""
    if not serving.local:
        _print(EXPOSED, sys.stderr)
    if parent:
        _tell({"address": serving.address, **({"token": shown} if shown else {})})
        return
    _print(f"Base URL  {serving.address}/v1")
    if shown:
        _print(f"Token     {shown} (for this run: no keychain can keep it)")
    elif token and serving.token.given:
        _print(f"Token     in {serving.token.given}")
    elif token:
        _print("Token     agent-studio serve --show-token")
    else:
        _print("Token     none is needed: whatever runs on this computer may ask")
    _print(f"Folder    {serving.folder}")
    _print("Stop with Ctrl+C.")


async def _token(token: ServerToken, *, renew: bool) -> int:
    shown = await (token.renew() if renew else token.get())
    if not token.kept:
        raise ConfigurationError(
            "No keychain can keep a token on this computer. Each run of the server makes its own "
            "and shows it, unless --token-file names a file for it."
        )
    _print(shown)
    return 0


@contextmanager
def _on_signals(end: Callable[[], None]) -> Generator[None]:
    """Handles SIGTERM and a closed terminal by a clean end; the loop itself handles Ctrl+C.

    Where a closed terminal is ignored (nohup), the server goes on.
    """
    loop = asyncio.get_running_loop()
    with ExitStack() as handlers:
        if sys.platform != "win32":
            for number in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    loop.add_signal_handler(number, end)
                    handlers.callback(loop.remove_signal_handler, number)
        yield


class Parent:
    """Reads what the parent window sends: keys that no keychain has, and changed keys."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._looking: asyncio.Task[None] | None = None

    def hear(self, line: bytes) -> None:
        """``{"keys": {NAME: KEY or null}}``; a null key is looked up again."""
        try:
            keys = as_object(as_object(json.loads(line)).get("keys"))
        except (ValueError, RecursionError):
            return
        keychain = self._engine.keychain
        for name, key in keys.items():
            if isinstance(key, str) and key.strip():
                keychain.keep_for_session(name, key)
            else:
                keychain.forget(name, session=True)
        self._looking = asyncio.ensure_future(self._engine.look_for_providers())


def _watch_parent(end: Callable[[], None], hear: Callable[[bytes], None]) -> None:
    """Pass on the parent's lines; call ``end`` when standard input closes, however it ended."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        rest = b""
        with suppress(OSError, RuntimeError):
            while data := os.read(0, 4096):  # not sys.stdin: its lock would be held at our own end
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    loop.call_soon_threadsafe(hear, line)
        with suppress(RuntimeError):  # the loop is closed: it has ended by itself
            loop.call_soon_threadsafe(end)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _tell(what: dict[str, str]) -> None:
    print(json.dumps(what), flush=True)


def _print(text: str, file: TextIO | None = None) -> None:
    """Print a line. A folder's name or a problem may hold what a terminal would obey, or what
    looks like a line of ours."""
    print(escape_invisible(text).replace("\n", "\n  │ "), file=file, flush=True)
