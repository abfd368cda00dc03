"""Sandbox: finds the system's sandbox for commands, and explains what it blocked."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from studio.domain.patterns import lazy_pattern

from .bubblewrap import Bubblewrap
from .keeper import Keeper
from .sandbox_mounts import Launch, VisiblePaths
from .seatbelt import Seatbelt

_PROBE_TIMEOUT = 10.0  # s
_NETWORK = lazy_pattern(
    r"could not resolve|couldn't resolve|name resolution|name or service not known|ENOTFOUND"
    r"|EAI_AGAIN|getaddrinfo|no such host|network is unreachable|ENETUNREACH|nodename nor servname"
    r"|failed to connect|connection refused|ECONNREFUSED|could(?: not|n't) connect"
    r"|dns error|failed to lookup address|no address associated|unable to access 'http",
    re.I,
)
_WRITING = lazy_pattern(r"read-only file system|EROFS|errno 30|device or resource busy", re.I)
_ABSENT = lazy_pattern(r"no such file|not found|ENOENT|operation not permitted", re.I)


class Sandbox(Protocol):
    """Runs commands with limited rights.

    ``kind`` is the program's name, ``none`` without one; ``label`` is for the person,
    ``reason`` says why there is none. ``desks``: it can show a ``Desk``.
    For each command: ``argv`` and ``rules``, and where ``argv`` raised nothing, ``left`` once all
    that the command started has ended.
    """

    @property
    def kind(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def desks(self) -> bool: ...

    def argv(self, launch: Launch) -> list[str] | str:
        """The arguments that run a command. Touches the disk."""
        ...

    def rules(self) -> int | None:
        """A Landlock ruleset for the command: a descriptor, to be closed; None without one."""
        ...

    def left(self) -> None: ...
    def close(self) -> None: ...


class NoSandbox:
    """No sandbox: a command can do what the person can do."""

    kind = "none"
    label = "Not sandboxed"
    desks = False

    def __init__(self, reason: str = "") -> None:
        self.reason = reason

    def argv(self, launch: Launch) -> list[str] | str:
        if sys.platform == "win32":
            return f'{os.environ.get("COMSPEC", "cmd.exe")} /c "{launch.command}"'
        return ["/bin/sh", "-c", launch.command]

    def rules(self) -> int | None:
        return None

    def left(self) -> None:
        return

    def close(self) -> None:
        return


class HidingSandbox:
    """Another sandbox, with more files hidden: ``hidden`` is called for each command.

    ``kept`` are files that no command can change.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        hidden: Callable[[], Sequence[Path]],
        kept: Sequence[Path] = (),
    ) -> None:
        self._sandbox = sandbox
        self._kept = kept
        self._hidden = hidden
        self.kind, self.label, self.reason = sandbox.kind, sandbox.label, sandbox.reason
        self.desks = sandbox.desks
        self.rules, self.left, self.close = sandbox.rules, sandbox.left, sandbox.close

    def argv(self, launch: Launch) -> list[str] | str:
        hidden = [*launch.hidden, *self._hidden()]
        return self._sandbox.argv(replace(launch, hidden=hidden, kept=[*launch.kept, *self._kept]))


def find_sandbox(
    keeper: Keeper,
    private: Sequence[Path] = (),
    *,
    wanted: bool = True,
    home: Path | None = None,
) -> Sandbox:
    """The system's sandbox, tested by running a command in it; blocks, so use a thread.

    ``private`` are folders no command may see: the program's own.
    """
    if not wanted:
        return NoSandbox("The sandbox is off in the settings.")
    places = VisiblePaths(home or Path.home(), tuple(private))
    candidates: list[Sandbox] = []
    if sys.platform.startswith("linux"):
        program = _program("bwrap")
        if program is None:
            return NoSandbox("bubblewrap is not installed.")
        # The second if Landlock prevents bubblewrap from making its namespaces.
        candidates += [Bubblewrap(program, places), Bubblewrap(program, places, scoped=False)]
    elif sys.platform == "darwin":
        candidates.append(Seatbelt(places))
    else:
        return NoSandbox("This system has no sandbox that is supported.")
    problem = ""
    for sandbox in candidates:
        problem = _test(sandbox, keeper)
        if not problem:
            return sandbox
    return NoSandbox(f"{candidates[0].kind} does not work here: {problem}")


class SandboxProbe:
    """Finds the sandbox for commands when the first one is near; ``private`` folders are hidden."""

    def __init__(self, keeper: Keeper, private: Sequence[Path], wanted: Callable[[], bool]) -> None:
        self._keeper = keeper
        self._private = tuple(private)
        self._wanted = wanted
        self._probing = asyncio.Lock()
        self._found: tuple[bool, Sandbox] | None = None
        """What was wanted, and what was found."""

    async def sandbox(self) -> Sandbox:
        """The sandbox that the settings ask for now."""
        wanted = self._wanted()
        if self._found is not None and self._found[0] == wanted and not self._probing.locked():
            return self._found[1]
        async with self._probing:
            if self._found is None or self._found[0] != wanted:
                found = await asyncio.to_thread(
                    find_sandbox, self._keeper, self._private, wanted=wanted
                )
                await self.close()
                self._found = (wanted, found)
            return self._found[1]

    async def close(self) -> None:
        if self._found is not None:
            await asyncio.to_thread(self._found[1].close)


def explain_failure(sandbox: Sandbox, output: str, *, network: bool) -> str:
    """How the sandbox may have made a command fail, for the model; empty if it did not."""
    if sandbox.kind == "none":
        return ""
    end = output[-20_000:]
    if not network and _NETWORK.search(end):
        return "This ran without network. Ask with network=true if it is needed."
    if _WRITING.search(end):
        return (
            "This ran in a sandbox: only the working folder and /tmp can be written, "
            "and in it not .agents, .claude, .github/agents, .git/hooks or .git/config; what a "
            "rule refuses to be read is not there."
        )
    home = re.escape(str(Path.home()))
    for path in re.findall(rf"{home}/[^\s'\"“”:,;)]+", end):
        if _ABSENT.search(end) and os.path.lexists(path):
            return f"This ran in a sandbox, from which {path} cannot be seen."
    return ""


def _program(name: str) -> str | None:
    """The path of a program, only from the system's folders."""
    usual = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
    return shutil.which(name, path=os.pathsep.join(usual))


def _test(sandbox: Sandbox, keeper: Keeper) -> str:
    """Test a sandbox; what is wrong with it, empty if a command ran in it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        try:
            argv = sandbox.argv(Launch("echo works > tried", Path(folder), environment))
            try:
                code, said = _run(argv, Path(folder), environment, sandbox.rules(), keeper)
            finally:
                sandbox.left()
        except TimeoutError:
            return f"a command took more than {_PROBE_TIMEOUT:g} s"
        except (OSError, ValueError) as error:
            return str(error) or "it failed"
        if code == 0 and Path(folder, "tried").is_file():
            return ""
        return said.strip()[:300] or f"exit {code}"


def _run(
    argv: Sequence[str] | str,
    folder: Path,
    environment: Mapping[str, str],
    rules: int | None,
    keeper: Keeper,
) -> tuple[int, str]:
    """Run a program; its code, and what it wrote to its standard error."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        with tempfile.TemporaryFile() as said:
            streams = (null, null, said.fileno())
            process = keeper.start(argv, folder, environment, streams, rules=rules)
            try:
                code = process.exited.result(_PROBE_TIMEOUT)
            finally:
                process.end()
            said.seek(0)
            return code, said.read().decode("utf-8", "replace")
    finally:
        for descriptor in (null, *(() if rules is None else (rules,))):
            os.close(descriptor)
