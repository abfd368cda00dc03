"""Programs: finds the command of an MCP server as the person's own terminal would (M-3).

A program that was started from a menu has a shorter ``PATH`` than a terminal: the login shell is
asked once, and the usual folders of Node, Python and Homebrew are added.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shutil import which

from studio.domain.records import dataclass
from studio.mcp.faults import ServerFailed
from studio.processes.daemon_thread import in_daemon_thread
from studio.processes.keeper import Keeper

PATIENCE = 3.0
"""Seconds that the login shell has to say its ``PATH``."""
_BEGIN, _END = "studio-path-begins", "studio-path-ends"
_SHELLS = ("bash", "zsh", "sh", "dash", "ksh", "fish")
"""Shells that take ``-l``, ``-i`` and ``-c`` together."""
_MOST_SAID = 1 << 20
_BATCH = (".bat", ".cmd")
_READ_BY_CMD = frozenset('"%!^&|<>\r\n')
"""What Windows' shell acts on in the arguments of a batch file, quoted or not."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was found: its words, the first of them a whole path, and its environment."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


class Programs:
    """Finds programs; asks the login shell once."""

    def __init__(self, keeper: Keeper, home: Path, fetched: Path) -> None:
        """``fetched`` is the folder of a uv that the person had fetched, found last of all."""
        self._keeper = keeper
        self._home = home
        self._fetched = fetched
        self._asked: asyncio.Task[str] | None = None

    async def find(
        self,
        command: str,
        arguments: tuple[str, ...],
        folder: Path,
        variables: Mapping[str, str],
        own: Mapping[str, str] | None = None,
    ) -> Program:
        """Find a command; raises ServerFailed that says where it was looked for.

        ``own`` are the server's own variables, which may be secret: the login shell, whose answer
        is for all servers, does not get them.
        """
        if self._asked is None:
            self._asked = asyncio.ensure_future(self._login_path(dict(variables)))
        environment = {**variables, **(own or {})}
        said = await asyncio.shield(self._asked)
        path = _search_path(environment, said, self._home, self._fetched)
        found = await asyncio.to_thread(_found, command, folder, path)
        if found is None:
            raise ServerFailed("not_found", _not_found(command, path))
        if Path(found).suffix.lower() in _BATCH and any(
            _READ_BY_CMD & set(argument) for argument in arguments
        ):
            raise ServerFailed(
                "refused",
                f"{found} is a batch file, to which Windows cannot safely pass arguments with "
                'any of " % ! ^ & | < >. Name the program that it starts instead.',
            )
        return Program((found, *arguments), {**environment, _path_name(environment): path})

    async def _login_path(self, environment: Mapping[str, str]) -> str:
        """The ``PATH`` of the login shell; empty if it does not say it in time."""
        shell = environment.get("SHELL", "")
        if sys.platform == "win32" or Path(shell).name not in _SHELLS or not Path(shell).exists():
            return ""
        script = f"echo {_BEGIN}; /usr/bin/env; echo {_END}"
        with suppress(OSError, TimeoutError):
            said = await in_daemon_thread(
                lambda: _output(
                    self._keeper, [shell, "-l", "-i", "-c", script], self._home, environment
                )
            )
            _, began, rest = said.rpartition(f"{_BEGIN}\n")
            variables, ended, _ = rest.partition(f"\n{_END}")
            if began and ended:
                for line in variables.splitlines():
                    if line.startswith("PATH="):
                        return line.removeprefix("PATH=")
        return ""


def _output(keeper: Keeper, argv: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """What a program prints in ``PATIENCE`` seconds; raises OSError. Blocks."""
    reading, writing = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    try:
        place = folder if folder.is_dir() else Path("/")
        process = keeper.start(argv, place, environment, (null, writing, null), grace=0.0)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
        os.close(null)
    try:
        with suppress(TimeoutError):
            process.exited.result(PATIENCE)
    finally:
        process.end()
    with os.fdopen(reading, "rb", 0) as output:
        # What it started may have the pipe open and be another user's: nothing is waited for.
        os.set_blocking(reading, False)
        return (output.read(_MOST_SAID) or b"").decode("utf-8", "replace")


def _search_path(environment: Mapping[str, str], login: str, home: Path, fetched: Path) -> str:
    """Where programs are looked for: the login shell's folders, this program's, the usual ones."""
    own = environment.get(_path_name(environment), "")
    folders = [*login.split(os.pathsep), *own.split(os.pathsep), *_usual(environment, home)]
    folders += [str(fetched)] if fetched.is_dir() else []
    return os.pathsep.join(dict.fromkeys(one for one in folders if one))


def _path_name(environment: Mapping[str, str]) -> str:
    """What ``PATH`` is called: on Windows in letters of any case."""
    return next((name for name in environment if name.upper() == "PATH"), "PATH")


def _usual(environment: Mapping[str, str], home: Path) -> list[str]:
    """The usual folders of Node, Python and Homebrew that exist."""
    if sys.platform == "win32":
        local = Path(environment.get("LOCALAPPDATA", home / "AppData" / "Local"))
        roaming = Path(environment.get("APPDATA", home / "AppData" / "Roaming"))
        programs = Path(environment.get("PROGRAMFILES", "C:\\Program Files"))
        folders = [home / ".local" / "bin", roaming / "npm", programs / "nodejs"]
        folders += [local / "Microsoft" / "WindowsApps", local / "Programs" / "Python" / "Launcher"]
    else:
        folders = [home / ".local" / "bin", home / ".cargo" / "bin", home / ".bun" / "bin"]
        folders += [home / ".deno" / "bin", home / ".volta" / "bin", home / ".asdf" / "shims"]
        folders += [home / ".local" / "share" / "mise" / "shims", home / ".nodenv" / "shims"]
        folders += [home / ".pyenv" / "shims", home / ".npm-global" / "bin"]
        folders += sorted((home / ".nvm" / "versions" / "node").glob("*/bin"), key=_version)[::-1]
        folders += [Path("/opt/homebrew/bin"), Path("/usr/local/bin")]
        folders += [Path("/home/linuxbrew/.linuxbrew/bin"), Path("/usr/bin"), Path("/bin")]
    return [str(folder) for folder in folders if folder.is_dir()]


def _version(folder: Path) -> list[int]:
    """``…/node/v22.3.0/bin`` by its numbers."""
    parts = folder.parent.name.lstrip("v").split(".")
    return [int(part) if part.isdigit() else 0 for part in parts]


def _found(command: str, folder: Path, path: str) -> str | None:
    """The whole path of a command; one with a slash is looked for from its folder."""
    command = os.path.expanduser(command)  # noqa: PTH111  # ``~x`` of nobody stays as it is
    if os.sep in command or (os.altsep and os.altsep in command):
        return which(str(folder / command))
    return which(command, path=path)


def _not_found(command: str, path: str) -> str:
    if os.sep in command:
        return f"There is no program {command} that may be run."
    folders = path.split(os.pathsep)
    shown = ", ".join(folders[:12]) + (f" and {len(folders) - 12} more" if folders[12:] else "")
    return f"There is no program {command}. It was looked for in {shown}."
