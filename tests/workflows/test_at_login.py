"""The runs of triggers begin from login on, where the person switched that on (W-9)."""

from __future__ import annotations

import asyncio
import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from studio.workflows import at_login
from support.engine_home import engine_home
from support.waiting import HANG

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="other systems have other places"
)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's folder of settings, and a program in a folder with an odd name.

    Nothing is on the path: the system's own program, which would begin it now, neither.
    """
    program = tmp_path / 'a $b "c" 100%' / "agent-studio"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m studio "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("AGENT_STUDIO_HOME", str(tmp_path / "my $data"))
    monkeypatch.delenv("APPIMAGE", raising=False)
    return tmp_path / "config"


def read_by_systemd(line: str) -> list[str]:
    program, *words = shlex.split(line.replace("%%", "%"))
    return [program, *(word.replace("$$", "$") for word in words)]


@pytest.mark.parametrize("systemd", [True, False])
async def test_w9_a_runner_begins_at_login_and_not_any_more(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    tmp_path: Path, systemd: bool,
) -> None:  # fmt: skip
    """Also where there is no systemd: then the desktop begins it."""
    monkeypatch.setattr(at_login, "_has_systemd", lambda: systemd)
    place = (
        "systemd/user/agent-studio-watch.service"
        if systemd
        else "autostart/agent-studio-watch.desktop"
    )
    async with engine_home(tmp_path, "ollama", []) as home:
        for _ in range(2):  # again changes nothing
            assert await home.command("workflow", "watch", "--at-login", "on") == 0
            assert "From login on" in capsys.readouterr().err
        text = (config / place).read_text()
        starts = "ExecStart=" if systemd else "Exec="
        (line,) = [one.removeprefix(starts) for one in text.splitlines() if one.startswith(starts)]
        if systemd:
            words = read_by_systemd(line)
            assert f'Environment="AGENT_STUDIO_HOME={tmp_path / "my $data"}"' in text
            link = config / "systemd/user/default.target.wants/agent-studio-watch.service"
            assert link.resolve() == config / place, "it is wanted at each login"
        else:
            words = [
                one.replace("\\$", "$")
                for one in shlex.split(line.replace("\\\\", "\\").replace("%%", "%"))
            ]
            assert words[:2] == ["env", f"AGENT_STUDIO_HOME={tmp_path / 'my $data'}"]
            words = words[2:]
        assert words == at_login.watch_command()
        told = await asyncio.to_thread(
            lambda: subprocess.run(
                [*words, "--help"], capture_output=True, timeout=HANG, check=True
            )
        )
        assert b"--at-login" in told.stdout
        assert await home.command("workflow", "watch", "--at-login", "show") == 0
        assert "From login on" in capsys.readouterr().err
        assert await home.command("workflow", "watch", "--at-login", "off") == 0
        assert not [one for one in config.rglob("*") if not one.is_dir()], "nothing of it stays"
        assert await home.command("workflow", "watch", "--at-login", "off") == 0
        assert "Nothing begins at login." in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
async def test_w9_systemd_finds_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W-9: systemd reads the unit as it is meant, also of a folder with signs of its own."""
    program = tmp_path / "a $b 100%" / "agent-studio"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    words = [str(shutil.which("systemd-analyze")), "--user", "verify"]
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(at_login, "_has_systemd", lambda: True)
    monkeypatch.delenv("APPIMAGE", raising=False)
    await asyncio.to_thread(at_login.switch_on)
    words.append(str(tmp_path / "config" / "systemd" / "user" / at_login.UNIT))
    told = await asyncio.to_thread(
        lambda: subprocess.run(words, capture_output=True, text=True, timeout=HANG, check=False)
    )
    assert "agent-studio" not in told.stderr, told.stderr


def test_w9_an_appimage_is_begun_by_its_own_file(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its Python is now nothing is at the next login."""
    monkeypatch.setenv("APPIMAGE", "/apps/Studio.AppImage")
    assert at_login.watch_command() == ["/apps/Studio.AppImage", "workflow", "watch"]


def test_w9_it_is_begun_once_and_from_any_folder(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where systemd came later, and where the path has a folder of here."""
    program = at_login.watch_command()[0]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(program).parent.relative_to(tmp_path)))
    assert at_login.watch_command()[0] == sys.executable, "what is here may be anybody's"
    words = [*at_login.watch_command(), "--help"]
    subprocess.run(words, capture_output=True, timeout=HANG, check=True, cwd=config.parent.parent)
    for systemd in (False, True):
        monkeypatch.setattr(at_login, "_has_systemd", lambda has=systemd: has)
        at_login.switch_on()
    found = {one.name for one in config.rglob("*") if one.is_file() and not one.is_symlink()}
    assert found == {at_login.UNIT}


LAUNCHD: dict[str, type] = {
    "Label": str,
    "ProgramArguments": list,
    "EnvironmentVariables": dict,
    "RunAtLoad": bool,
    "KeepAlive": dict,
    "ThrottleInterval": int,
}
"""Keys of launchd.plist(5) with what Apple documents them to be, as far as they are used here."""


@pytest.fixture
def launchctl(config: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for launchd's own program: the file that it writes its words to."""
    told = config.parent / "told"
    program = config.parent / 'a $b "c" 100%' / "launchctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {told}\n')
    program.chmod(0o755)
    subprocess.run([program, "help"], timeout=HANG, check=True)
    assert told.read_text() == "help\n", "it can be begun here"
    told.unlink()
    monkeypatch.setenv("HOME", str(config.parent / "home"))
    monkeypatch.setattr(sys, "platform", "darwin")
    return told


def test_w9_launchd_reads_the_agent_as_it_is_meant(
    launchctl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every key is one that Apple documents, and what it begins is the program with its data."""
    at_login.switch_on()
    home = launchctl.parent / "home"
    (place,) = (one for one in home.rglob("*") if one.is_file())
    assert place == home / "Library" / "LaunchAgents" / f"{at_login.AGENT}.plist"
    assert not place.stat().st_mode & 0o022, "launchd takes no file that others can write"
    with place.open("rb") as file:
        read = plistlib.load(file, fmt=plistlib.FMT_XML)
    assert {key: type(value) for key, value in read.items()} == LAUNCHD
    assert read["Label"] == place.stem
    assert read["KeepAlive"] == {"SuccessfulExit": False}, "as systemd does on failure"
    words, data = read["ProgramArguments"], read["EnvironmentVariables"]
    assert words == at_login.watch_command() and Path(words[0]).is_absolute()
    assert data == {"AGENT_STUDIO_HOME": str(launchctl.parent / "my $data")}
    monkeypatch.undo()  # what it begins has the variables of launchd, not those of here
    shown = subprocess.run(
        [*words, "--help"], env={**data, "PATH": "/usr/bin:/bin"}, cwd="/",
        capture_output=True, timeout=HANG, check=True,
    )  # fmt: skip
    assert b"--at-login" in shown.stdout


def test_w9_launchd_is_told_what_it_documents(
    launchctl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``bootstrap`` of a domain and a file, ``bootout`` of a service; a changed agent is both."""
    domain = f"gui/{os.getuid()}"
    place = launchctl.parent / "home" / "Library" / "LaunchAgents" / f"{at_login.AGENT}.plist"
    begins, ends = f"bootstrap {domain} {place}", f"bootout {domain}/{at_login.AGENT}"
    for _ in range(2):  # again changes nothing
        at_login.switch_on()
    assert launchctl.read_text().splitlines() == [begins, begins] and at_login.is_on()
    monkeypatch.setenv("AGENT_STUDIO_HOME", str(launchctl.parent / "elsewhere"))
    at_login.switch_on()
    assert launchctl.read_text().splitlines()[2:] == [ends, begins]
    assert at_login.switch_off() and not place.exists()
    assert launchctl.read_text().splitlines()[4:] == [ends]
    assert not at_login.is_on() and not at_login.switch_off()
    assert len(launchctl.read_text().splitlines()) == 5
