"""At login: has the system begin the runs of triggers from login on, without a window (W-9).

On Linux that is a unit of the person's systemd, or an entry among the programs that their desktop
starts; on macOS an agent of launchd, on Windows a value of the registry. Everything here blocks.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from studio.files.atomic_write import write_atomically
from studio.storage.installation import start_command
from studio.storage.paths import HOME_VARIABLE

UNIT = "agent-studio-watch.service"
ENTRY = "agent-studio-watch.desktop"
AGENT = "io.agent-studio.watch"
_TARGET = "gui/{}/{}"
RUN_VALUE = "Agent Studio watch"
"""The installers for Windows read it here, to take it away with the program."""
_RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
PATIENCE = 10.0
"""Seconds that the system's own program has to begin or end what it was told to."""


def watch_command() -> list[str]:
    """What begins the runs of triggers until it is stopped."""
    return [*start_command(), "workflow", "watch"]


def is_on() -> bool:
    """Whether something is begun at login."""
    if sys.platform == "win32":
        return bool(_in_registry())
    return any(place.exists() for place in _places())


def switch_on() -> None:
    """Have it begun at login, and now where the system can; raises OSError."""
    if sys.platform == "win32":
        _write_registry(subprocess.list2cmdline(watch_command()))
        return
    if sys.platform == "darwin":
        place, content = _launch_agent(), plistlib.dumps(_described())
        if place.exists() and place.read_bytes() != content:  # launchd goes by what it has read
            _tell("launchctl", "bootout", _TARGET.format(os.getuid(), AGENT))
        _write(place, content)
        _tell("launchctl", "bootstrap", f"gui/{os.getuid()}", str(place))
        return
    if not _has_systemd():
        _write(_autostart(), _entry().encode())
        return
    unit = _unit()
    _write(unit, _unit_text().encode())
    _autostart().unlink(missing_ok=True)  # of a time without systemd
    wanted = unit.parent / "default.target.wants" / UNIT
    wanted.parent.mkdir(parents=True, exist_ok=True)
    wanted.unlink(missing_ok=True)
    wanted.symlink_to(unit)
    _tell("systemctl", "--user", "daemon-reload")
    _tell("systemctl", "--user", "restart", UNIT)


def switch_off() -> bool:
    """Have nothing begun at login any more, and end what was; False if there was nothing."""
    if sys.platform == "win32":
        was_on = bool(_in_registry())
        _write_registry("")
        return was_on
    was_on = is_on()
    if was_on and sys.platform == "darwin":
        _tell("launchctl", "bootout", _TARGET.format(os.getuid(), AGENT))
    elif was_on and _unit().exists():
        _tell("systemctl", "--user", "stop", UNIT)
    for place in _places():
        place.unlink(missing_ok=True)
    if was_on and sys.platform != "darwin":
        (_unit().parent / "default.target.wants" / UNIT).unlink(missing_ok=True)
        _tell("systemctl", "--user", "daemon-reload")
    return was_on


def _places() -> list[Path]:
    return [_launch_agent()] if sys.platform == "darwin" else [_unit(), _autostart()]


def _config() -> Path:
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".config"


def _unit() -> Path:
    return _config() / "systemd" / "user" / UNIT


def _autostart() -> Path:
    return _config() / "autostart" / ENTRY


def _launch_agent() -> Path:
    return Path.home() / "Library" / "LaunchAgents" / f"{AGENT}.plist"


def _has_systemd() -> bool:
    return Path("/run/systemd/system").is_dir() and shutil.which("systemctl") is not None


def _home() -> dict[str, str]:
    """The folder of data, where the person has it in another place."""
    found = os.environ.get(HOME_VARIABLE, "")
    return {HOME_VARIABLE: str(Path(found).expanduser().absolute())} if found else {}


def _unit_text() -> str:
    program, *words = map(_systemd_word, watch_command())
    quoted = " ".join((program, *(one.replace("$", "$$") for one in words)))
    lines = [
        "[Unit]",
        "Description=Agent Studio: begins the runs of workflows that are due",
        "",
        "[Service]",
        f"ExecStart={quoted}",
        *(f"Environment={_systemd_word(f'{name}={value}')}" for name, value in _home().items()),
        "Restart=on-failure",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    return "\n".join(lines)


def _systemd_word(word: str) -> str:
    """A word between quotes. Only among a program's arguments does a dollar begin a variable."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%")):
        word = word.replace(sign, written)
    return f'"{word}"'


def _entry() -> str:
    words = watch_command()
    if more := [f"{name}={value}" for name, value in _home().items()]:
        words = ["env", *more, *words]
    line = " ".join(map(_desktop_word, words))
    return f"[Desktop Entry]\nType=Application\nName=Agent Studio\nExec={line}\nNoDisplay=true\n"


def _desktop_word(word: str) -> str:
    for sign in '\\"`$':
        word = word.replace(sign, f"\\{sign}")
    return f'"{word}"'.replace("\\", "\\\\").replace("%", "%%")


def _described() -> dict[str, object]:
    """The agent as launchd reads it."""
    return {
        "Label": AGENT,
        "ProgramArguments": watch_command(),
        "EnvironmentVariables": _home(),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 60,  # s between two beginnings, of a watch that cannot work too
    }


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, content)


def _tell(*command: str) -> None:
    """Tell the system's own program; where it cannot do that now, the next login does."""
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, check=False, capture_output=True, timeout=PATIENCE)


def _in_registry() -> str:
    if sys.platform != "win32":
        return ""
    import winreg

    with suppress(OSError), winreg.OpenKey(winreg.HKEY_CURRENT_USER, _RUN) as key:
        return str(winreg.QueryValueEx(key, RUN_VALUE)[0])
    return ""


def _write_registry(line: str) -> None:
    """Write the value; an empty one is taken away."""
    if sys.platform != "win32":
        return
    import winreg

    with winreg.CreateKey(winreg.HKEY_CURRENT_USER, _RUN) as key:
        if line:
            winreg.SetValueEx(key, RUN_VALUE, 0, winreg.REG_SZ, line)
        else:
            with suppress(FileNotFoundError):
                winreg.DeleteValue(key, RUN_VALUE)
