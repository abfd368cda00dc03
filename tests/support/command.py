"""The real command as a real process, in a home of its own, at a pipe or at a terminal."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studio.simulator import Script, Simulator
from studio.storage.paths import Paths
from support.engine_home import KEY, PROTOCOLS
from support.fork_server import start_python
from support.waiting import within

ROOT = Path(__file__).parents[2]
KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openai-compatible": "OPENAI_API_KEY",
}
URL_VARIABLES = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "openai-compatible": "OPENAI_BASE_URL",
    "ollama": "OLLAMA_HOST",
}

PLAIN = """
import ctypes, os, runpy, sys
libc = ctypes.CDLL(None, use_errno=True)
OVERRIDE = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
for capability in (1, 2):  # for what it starts
    assert libc.prctl(24, capability, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert libc.capget(header, sets) == 0, os.strerror(ctypes.get_errno())
for at in range(3):  # effective, permitted, inheritable
    sets[at] &= ~OVERRIDE
assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@dataclass
class Ended:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Command:
    """Starts ``python -m studio`` with nothing of this machine's own set-up."""

    def __init__(self, place: Path, **environment: str) -> None:
        self.home = place / "home"
        self.folder = place / "work"
        self.folder.mkdir(exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "AGENT_STUDIO_HOME": str(self.home),
            "PYTHONFAULTHANDLER": "1",
            "SSL_CERT_FILE": str(ROOT / "tests" / "support" / "authority.pem"),
            **environment,
        }

    def provider(self, name: str, url: str, key: str = KEY) -> None:
        """Set what this provider's own tools read from the environment."""
        self.environment[URL_VARIABLES[name]] = url
        if name in KEY_VARIABLES:
            self.environment[KEY_VARIABLES[name]] = key

    def change(self, **values: object) -> None:
        """Change settings as another program does."""
        settings = Paths.below(self.home).settings
        settings.parent.mkdir(parents=True, exist_ok=True)
        known = json.loads(settings.read_text()) if settings.exists() else {}
        settings.write_text(json.dumps(known | values))

    async def start(
        self,
        *arguments: str,
        stdin: int = DEVNULL,
        stdout: int = PIPE,
        plain: bool = False,
    ) -> Process:
        """``plain``: without a superuser's way past file permissions, should we have it."""
        how = ("-c", PLAIN) if plain and os.geteuid() == 0 else ("-m",)
        return await start_python(
            *how,
            "studio",
            *arguments,
            environment=self.environment,
            folder=self.folder,
            stdin=stdin,
            stdout=stdout,
        )

    async def __call__(
        self, *arguments: str, said: bytes | None = None, plain: bool = False
    ) -> Ended:
        """Run to the end; a traceback is never what a person should see."""
        stdin = DEVNULL if said is None else PIPE
        return await finish(await self.start(*arguments, stdin=stdin, plain=plain), said)

    async def unread(self, *arguments: str) -> Ended:
        """Run with an output that nobody reads any more."""
        ours, theirs = os.pipe()
        os.close(ours)
        process = await self.start(*arguments, stdout=theirs)
        os.close(theirs)
        return await finish(process)

    async def turn(self, *arguments: str) -> list[dict[str, Any]]:
        """The events of ``run --json``, which must end well."""
        ended = await self("run", "--json", *arguments)
        assert ended.code == 0, ended
        return ended.events

    async def interrupted(self, *arguments: str, when: str) -> Ended:
        """``run --json``, then Ctrl-C at the first line holding ``when``.

        Returns how it ended; the turn's last event comes before the process is over.
        """
        process = await self.start("run", "--json", *arguments)
        assert process.stdout is not None
        lines: list[str] = []
        async with within():
            while not lines or when not in lines[-1]:
                line = await process.stdout.readline()
                assert line, (lines, await finish(process))
                lines.append(line.decode())
            process.send_signal(signal.SIGINT)
            while '"turn_complete"' not in lines[-1]:
                lines.append((await process.stdout.readline()).decode())
                assert lines[-1], lines
        rest = await finish(process)
        return Ended(rest.code, "".join(lines) + rest.out, rest.err)


async def finish(process: Process, said: bytes | None = None) -> Ended:
    try:
        async with within():
            out, err = await process.communicate(said)
    except TimeoutError:
        process.send_signal(signal.SIGABRT)  # says where it hangs
        out, err = await process.communicate()
        raise AssertionError(f"it never ended\n{out.decode()}\n{err.decode()}") from None
    assert process.returncode is not None
    ended = Ended(process.returncode, (out or b"").decode(), (err or b"").decode())
    for word in ("Traceback", "Exception ignored", "Warning:", "Fatal Python"):
        assert word not in ended.err + ended.out, ended.err
    return ended


@contextlib.asynccontextmanager
async def at_provider(
    place: Path, provider: str, script: Script, **simulated: Any
) -> AsyncIterator[tuple[Command, Simulator]]:
    """A terminal whose provider is a simulator."""
    async with Simulator(script, pace=False, **simulated) as simulator:
        terminal = Command(place)
        terminal.provider(provider, simulator.url(PROTOCOLS[provider]))  # type: ignore[arg-type]
        yield terminal, simulator


class Screen:
    """A command at a pseudo-terminal of its own: what it shows, what is typed."""

    def __init__(self, process: Process, master: int) -> None:
        self.shown = ""
        self.process = process
        self._master = master
        self._news = asyncio.Event()
        self._at = 0
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._over = False
        """Nobody can write any more: the process is over, and all it wrote was read."""
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # the other end is closed
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
            self._over = True
        self._show(data)
        self._news.set()

    async def until(self, words: str) -> str:
        """Wait for these words after those waited for before; what came until then."""
        async with within():
            while (found := self.shown.find(words, self._at)) < 0:
                assert not self._over, self.shown
                self._news.clear()
                await self._news.wait()
        text = self.shown[self._at : found + len(words)]
        self._at = found + len(words)
        return text

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def end(self) -> int:
        async with within():
            code = await self.process.wait()
        if self._master >= 0:
            self._read_rest()
        assert "Traceback" not in self.shown and "Fatal Python" not in self.shown, self.shown
        return code

    def _read_rest(self) -> None:
        os.set_blocking(self._master, False)
        with contextlib.suppress(OSError):
            while data := os.read(self._master, 1 << 16):
                self._show(data)

    def _show(self, data: bytes) -> None:
        """A character, or the end of a line, may come in two parts."""
        held = self.shown.endswith("\r")
        text = self._decode(data)
        if held and text.startswith("\n"):
            self.shown = self.shown[:-1]
        self.shown += text.replace("\r\n", "\n")

    def hang_up(self) -> None:
        """Close the terminal, as a person does with its window."""
        master, self._master = self._master, -1
        if master >= 0:
            asyncio.get_running_loop().remove_reader(master)
            os.close(master)


@contextlib.asynccontextmanager
async def screen(terminal: Command, *arguments: str) -> AsyncIterator[Screen]:
    master, slave = os.openpty()
    # The terminal must control the process, or Ctrl-C is only a character.
    process = await start_python(
        *("-m", "studio", *arguments),
        environment={**terminal.environment, "TERM": "xterm"},
        folder=terminal.folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        terminal=True,
    )
    os.close(slave)
    shown = Screen(process, master)
    try:
        yield shown
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        shown.hang_up()


def session_of(err: str) -> str:
    """The session named at the end of a turn."""
    found = re.search(r"--session (\w+)", err)
    assert found, err
    return found[1]
