"""Local model process: starts the model's server on first use and stops it when idle."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import studio
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import JsonObject, as_object, as_text
from studio.providers.computer_memory import Memory
from studio.providers.http import Http
from studio.providers.model_files.gguf import NotGguf, part_files, projector_of, read_facts

from . import MISSING, WEIGHTS

if TYPE_CHECKING:
    import httpx2

TOO_OLD = "This processor is too old for the built-in model (it needs AVX2)."

SMALL_CONTEXT = 4096
"""Tokens for SmolLM2; its weights allow 8,192, at twice the memory."""
OTHER_CONTEXT = 8192
"""Tokens for a file that does not say what its model can read."""
MOST_THREADS = 8
"""More only wait for memory."""
_SECONDS_A_GIGABYTE = 20
"""What a slow disk takes to read one."""

_ILLEGAL = (-4, 0xC000001D)
"""How a process ends on an instruction its processor lacks: SIGILL, and Windows' status."""
_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers; ``key`` is made anew for every start."""

    url: str
    key: str = field(repr=False)
    process: subprocess.Popen[str] = field(repr=False)


class LoopbackHttp(Http):
    """A new connection for each request: the server may hang up between two."""

    def _make(self) -> httpx2.AsyncClient:
        import httpx2

        from studio.providers.client import RecordingClient
        from studio.providers.transport import Transport

        return RecordingClient(
            transport=Transport(None, keeps=False),  # nothing is encrypted that stays here
            trust_env=False,
            timeout=httpx2.Timeout(600.0, connect=10.0),
        )


class ModelProcess:
    """A GGUF file served by a child process. Belongs to one event loop.

    ``gguf`` None is the SmolLM2 that is installed beside the program.
    ``environment`` is the child's, without keys. The child's own key travels
    through its standard input.
    """

    def __init__(
        self,
        gguf: Path | None,
        resources: Path,
        environment: Mapping[str, str],
        idle_seconds: float = 300.0,
        start_seconds: float = 60.0,
    ) -> None:
        self.chosen = gguf
        self.resources = resources / "builtin"
        self._environment = dict(environment)
        self._idle_seconds = idle_seconds
        self._start_seconds = start_seconds
        self._running: Running | None = None
        self._starting: asyncio.Task[Running] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._users = 0
        self._launching: subprocess.Popen[str] | None = None
        self._given_up: asyncio.Task[Running] | None = None
        """A start whose child was ended because nobody waited for it any more."""
        self._context = 0
        self.http = LoopbackHttp()

    def of(self, gguf: Path) -> ModelProcess:
        """One like this, for another file."""
        folder, seconds = self.resources.parent, self._idle_seconds
        return ModelProcess(gguf, folder, self._environment, seconds, self._start_seconds)

    @property
    def is_used(self) -> bool:
        return self._users > 0

    def context(self) -> int:
        """Tokens of context that the model gets, for as long as this lives. Blocks."""
        if self.chosen is None:
            return SMALL_CONTEXT
        if not self._context:
            try:
                facts = read_facts(self.chosen)
            except (OSError, NotGguf):  # the start says what is wrong with it
                return OTHER_CONTEXT
            self._context = facts.context(Memory.of_this_computer())
        return self._context

    @property
    def process(self) -> subprocess.Popen[str] | None:
        """The child while one runs."""
        running = self._running
        return running.process if running and running.process.poll() is None else None

    @asynccontextmanager
    async def in_use(self) -> AsyncGenerator[Running]:
        """A running server that is not stopped for idleness meanwhile.

        Raises ConfigurationError when it cannot run here.
        """
        self._users += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            yield await self._ready()
        finally:
            self._users -= 1
            if self._users == 0 and self._launching is not None:
                self._launching.kill()
                self._given_up = self._starting
            self._stop_when_idle()

    async def aclose(self) -> None:
        """End the child; the object can be used again afterwards."""
        await self.rest()
        await self.http.aclose()

    async def rest(self) -> None:
        """End the child until the next request, also one that is starting."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._launching is not None:
            self._launching.kill()
        if self._starting is not None:
            with suppress(ConfigurationError, asyncio.CancelledError):
                await asyncio.shield(self._starting)
        running, self._running = self._running, None
        if running is not None:
            await asyncio.to_thread(_end, running.process)
        if self._stopping is not None:
            await self._stopping

    def reason_of_death(self) -> ConfigurationError | None:
        """Why the child is gone, if it is and the person can do something about it."""
        running = self._running
        if running is not None and running.process.poll() in _ILLEGAL:
            return ConfigurationError(TOO_OLD)
        return None

    async def _ready(self) -> Running:
        if self._stopping is not None:
            await asyncio.shield(self._stopping)
        if self._starting is not None and self._starting is self._given_up:
            with suppress(ConfigurationError):
                await asyncio.shield(self._starting)
        if self._running is not None and self._running.process.poll() is None:
            return self._running
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
            self._starting.add_done_callback(_looked_at)
        # Shielded: a cancelled turn must not leave a child process that is never stopped.
        return await asyncio.shield(self._starting)

    async def _start(self) -> Running:
        try:
            dead, self._running = self._running, None
            if dead is not None:
                await asyncio.to_thread(_end, dead.process)
            self._running = await asyncio.to_thread(self._launch)
            self._stop_when_idle()
            return self._running
        finally:
            self._starting = None

    def _stop_when_idle(self) -> None:
        if self._users == 0 and self._running is not None and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._idle_seconds, self._idle)

    def _idle(self) -> None:
        self._timer = None
        running, self._running = self._running, None
        if running is not None:
            self._stopping = asyncio.create_task(self._stop(running))

    async def _stop(self, running: Running) -> None:
        try:
            await asyncio.to_thread(_end, running.process)
        finally:
            self._stopping = None

    def _launch(self) -> Running:
        gguf = self.chosen or packaged_gguf()
        _check(gguf)
        own = self.chosen is None
        key = secrets.token_urlsafe(32)
        projector = projector_of(gguf)
        order: JsonObject = {
            "gguf": str(gguf),
            "projector": str(projector) if projector.exists() and not own else "",
            "key": key,
            "template": (self.resources / "chat.jinja").read_text("utf-8") if own else "",
            "context": self.context(),
            "threads": 1 if own else min(MOST_THREADS, max(1, (os.cpu_count() or 2) - 1)),
        }
        gigabytes = sum(part.stat().st_size for part in part_files(gguf)) // 10**9
        seconds = self._start_seconds + gigabytes * _SECONDS_A_GIGABYTE
        process = subprocess.Popen(
            [sys.executable, "-m", "studio.providers.local_model.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=self._environment,
            # Where the package is found, whatever folder the program was started in.
            cwd=Path(studio.__file__).parents[1],
            start_new_session=True,  # Ctrl-C in a terminal is for the program alone
        )
        self._launching = process
        try:
            answer = _ask(process, order, seconds)
        except BaseException:
            _end(process)
            raise
        finally:
            self._launching = None
        if url := as_text(answer.get("url")):
            return Running(url, key, process)
        code = _end(process)
        if code in _ILLEGAL:
            raise ConfigurationError(TOO_OLD)
        if "missing" in answer:
            raise ConfigurationError(MISSING)
        if unusable := as_text(answer.get("unusable")):
            raise ConfigurationError(
                f"The built-in model cannot start on this system: {unusable}. "
                "Type `make run` in the program's folder, which installs what it needs."
            )
        said = as_text(answer.get("error")) or f"it ended with code {code}"
        raise ConfigurationError(f"{gguf.name} could not be loaded: {said}.")


def _looked_at(start: asyncio.Task[Running]) -> None:
    """Its failure is known to whoever waited; a start that was given up has nobody."""
    if not start.cancelled():
        start.exception()


def packaged_gguf() -> Path:
    """The weights that were installed with the program; ConfigurationError if they were not."""
    found = importlib.util.find_spec(WEIGHTS)
    for folder in (found.submodule_search_locations or []) if found else []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise ConfigurationError(MISSING)


def _check(gguf: Path) -> None:
    parts = part_files(gguf)
    if gguf != parts[0]:
        raise ConfigurationError(
            f"{gguf.name} is a part of a model. Choose {parts[0].name} in the settings."
        )
    if gguf.exists() and (missing := [part.name for part in parts if not part.exists()]):
        raise ConfigurationError(f"A part of the model is missing: {missing[0]}. Get it again.")
    try:
        with gguf.open("rb") as file:
            start = file.read(4)
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"The model file {gguf} is not there. Choose another in the settings."
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"The model file {gguf} cannot be read: {error.strerror}."
        ) from error
    if start != b"GGUF":
        raise ConfigurationError(f"{gguf.name} is not a GGUF file. Choose another in the settings.")


def _ask(process: subprocess.Popen[str], order: JsonObject, seconds: float) -> JsonObject:
    """Send the order; the answer's object, empty if the process died first."""
    assert process.stdin is not None
    assert process.stdout is not None
    late = threading.Event()

    def give_up() -> None:
        late.set()
        process.kill()

    deadline = threading.Timer(seconds, give_up)
    deadline.start()
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        line = process.stdout.readline()
    finally:
        deadline.cancel()
        deadline.join()
    if late.is_set():
        raise ConfigurationError(f"The built-in model did not start within {seconds:g} s.")
    try:
        return as_object(json.loads(line))
    except ValueError:
        return {}


def _end(process: subprocess.Popen[str]) -> int:
    """Close the child's input, then insist; returns its exit code."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    try:
        return process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
