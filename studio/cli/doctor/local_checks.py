"""Checks of this computer: versions, folders, database, sandbox, tools, clock."""

from __future__ import annotations

import errno
import glob
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import socket
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import cast

import studio
from studio.agent.agent_files.finder import AgentFiles
from studio.agent.folder_files import read_folder_files
from studio.domain.errors import ConfigurationError, StorageError, StudioError
from studio.domain.jsonvalue import JsonObject
from studio.extensions.packs.brought import brought_packs
from studio.extensions.packs.installed import InstalledPack, InstalledPacks
from studio.mcp.entries import EntriesFile
from studio.mcp.uv import is_uv, uv_folder
from studio.processes.desk import clones
from studio.processes.keeper import Keeper
from studio.processes.sandbox import find_sandbox
from studio.providers.local_model import ABOUT, ENGINE, MISSING
from studio.providers.local_model.process import TOO_OLD, packaged_gguf
from studio.storage.config.settings import Settings
from studio.storage.connection import explain_error, is_damage, open_for_reading
from studio.storage.crash_reports import CrashReports
from studio.storage.installation import installation
from studio.storage.migrations import LATEST
from studio.storage.pack_key import PackKeys, damage, errors, is_encrypted
from studio.storage.paths import Paths
from studio.tools.discovery import discover

from . import Finding

OLDEST, NEXT = (3, 11), (3, 15)
"""Versions of Python: the first that works, and the first that was not tried."""
LITTLE, TOO_LITTLE = 500_000_000, 20_000_000
"""Bytes free on a disk."""
CHECK_SECONDS = 2.5
"""Seconds for checking the database."""
DISK = "Look at the disk, or whether the place on the network answers."
_REPAIR = "The next start keeps the damaged file under another name, and saves what can be read."
_REFUSED = "Get the newest version from where this one came: it may know no key of today."
DRIFT = 120.0
"""Seconds by which a clock may be wrong."""


class LocalChecks:
    """Checks one installation, in threads; ``values`` are its settings, or the defaults."""

    def __init__(self, paths: Paths) -> None:
        self.values = Settings()
        self._paths = paths

    def program(self) -> Finding:
        """Check versions, without importing the packages."""
        here, name = sys.version_info[:2], "Program"
        text = f"Agent Studio {studio.__version__}, Python {platform.python_version()}"
        if not OLDEST <= here < NEXT:
            advice = f"Install Python {OLDEST[0]}.{OLDEST[1]} to {NEXT[0]}.{NEXT[1] - 1}."
            return Finding(name, "broken", f"{text} is not one it works with", advice)
        if (qt := _version("PySide6-Essentials")) is None:
            if _version("agent-studio-terminal") is not None:
                return Finding(name, "ok", f"{text}, without the window")
            advice = "Without it there is no window: pip install PySide6-Essentials"
            return Finding(name, "broken", f"{text}, no Qt", advice)
        text += f", Qt {qt} on {platform.system()} {platform.machine()}"
        if here == (3, 11) and qt.startswith("6.12."):
            advice = "It crashes with Python 3.11: pip install 'PySide6-Essentials<6.12'"
            return Finding(name, "broken", text, advice)
        return Finding(name, "ok", text)

    def installation(self) -> Finding:
        """Say how it was installed, and with that how a newer version is got."""
        found, name = installation(), "Installation"
        text = f"{found}. For a newer one: {found.update}"
        if self.values.updates_refused and self.values.look_for_updates:
            return Finding(name, "warning", text, f"{self.values.updates_refused} {_REFUSED}")
        return Finding(name, "ok", text)

    def folders(self) -> Finding:
        paths, name = self._paths, "Folders"
        folders = list(dict.fromkeys((paths.data, paths.config, paths.cache, paths.logs)))
        for folder in folders:
            there = next(place for place in (folder, *folder.parents) if place.exists())
            if not there.is_dir():
                return Finding(name, "broken", f"{there} is no folder", f"Move {there} away.")
            if not os.access(there, os.W_OK | os.X_OK):
                advice = f"Allow writing to {there}, or name another place in AGENT_STUDIO_HOME."
                return Finding(name, "broken", f"{there} cannot be written", advice)
        there = next(place for place in (paths.data, *paths.data.parents) if place.exists())
        free = shutil.disk_usage(there).free
        text = f"{paths.data}, {_size(free)} free"
        if free < LITTLE:
            state = "broken" if free < TOO_LITTLE else "warning"
            return Finding(name, state, text, "Free some space on that disk.")
        if os.name == "posix" and paths.data.is_dir() and paths.data.stat().st_mode & 0o077:
            text += ", which other users of this computer can read"
            return Finding(name, "warning", text, f"Keep it to yourself: chmod 700 {paths.data}")
        return Finding(name, "ok", text)

    def settings(self) -> Finding:
        """Read the settings for the other checks; leaves the file as it is, also a broken one."""
        path, name = self._paths.settings, "Settings"
        try:
            data = json.loads(path.read_bytes().decode("utf-8-sig"))
            if not isinstance(data, dict):
                raise ValueError("it is no JSON object")
        except FileNotFoundError:
            return Finding(name, "ok", "the defaults, none was changed yet")
        except OSError as error:
            text = f"{path} cannot be read: {error.strerror or error}"
            return Finding(name, "broken", text, "Allow reading it, or move it away.")
        except (ValueError, RecursionError) as error:
            advice = (
                "Correct that line. Else the next start sets the file aside and uses the defaults."
            )
            return Finding(name, "warning", f"{path} is not valid: {error}", advice)
        self.values = Settings.from_json(cast("JsonObject", data))
        return Finding(name, "ok", str(path))

    def database(self) -> Finding:
        path, name = self._paths.database, "Database"
        if not path.exists():
            return Finding(name, "ok", "none yet, the first start makes it")
        files = (path, path.with_name(f"{path.name}-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        if not os.access(path, os.R_OK):
            advice = "Allow reading and writing the file and its folder."
            return Finding(name, "broken", f"{path} cannot be read", advice)
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            text = f"{path} can only be read: chats are shown and exported, not changed"
            return Finding(name, "warning", text, "Allow writing to the file and its folder.")
        try:
            with closing(open_for_reading(path)) as db:
                db.execute("PRAGMA busy_timeout = 1000")
                version = db.execute("PRAGMA user_version").fetchone()[0]
                if version > LATEST:
                    text = f"{path} is of a newer Agent Studio"
                    return Finding(name, "broken", text, "Install the newer version again.")
                sound = _integrity(db)
        except sqlite3.Error as error:
            damaged = is_damage(error)
            advice = _REPAIR if damaged else "Close what else uses it, and try again."
            return Finding(name, "broken", str(explain_error(error, path)), advice)
        if sound not in ("ok", ""):
            return Finding(name, "broken", f"{path} is damaged: {sound}", _REPAIR)
        much = "sound" if sound else "sound as far as it was looked at"
        kept = sorted(path.parent.glob(f"{glob.escape(path.name)}.damaged-*"))
        kept = [one for one in kept if not one.name.endswith("-wal")]
        if kept:
            text = f"{path}, {_size(size)}, {much}; it was damaged before"
            names = ", ".join(one.name for one in kept)
            return Finding(name, "note", text, f"Delete it if nothing is missing: {names}")
        return Finding(name, "ok", f"{path}, {_size(size)}, {much}")

    def sandbox(self) -> Finding:
        """Run a command in the sandbox."""
        paths, name = self._paths, "Sandbox"
        private = (paths.data, paths.config, paths.cache, paths.logs)
        wanted = self.values.sandbox
        keeper = Keeper()
        found = find_sandbox(keeper, private, wanted=wanted)
        found.close()
        keeper.close()
        if found.kind != "none":
            desks = "steps that write side by side take turns"
            if found.desks:
                how = "clones" if clones(paths.data) else "copies, file by file"
                desks = f"steps that write side by side work on {how}"
            return Finding(name, "ok", f"{found.label}, and a command ran in it; {desks}")
        text = f"commands run unconfined. {found.reason}".rstrip(".")
        if not wanted and self.values.throwaway:
            text += ". The settings say throwaway: no call is held back for what it could send out"
            advice = "On your own computer: agent-studio config set throwaway false"
            return Finding(name, "warning", text, advice)
        if not wanted:
            return Finding(name, "note", text)
        advice = ""
        if sys.platform.startswith("linux"):
            advice = "Install bubblewrap: sudo apt install bubblewrap"
            if "not installed" not in found.reason:
                advice = "This computer does not let programs create namespaces: docs/sandbox.md"
        return Finding(name, "warning" if advice else "note", text, advice)

    def builtin(self) -> Finding:
        name, chosen = "Built-in model", self.values.builtin_model
        if importlib.util.find_spec(ENGINE) is None:
            advice = installation().model or MISSING
            return Finding(name, "note", "its engine is not installed", advice)
        try:
            file = Path(chosen) if chosen else packaged_gguf()
        except ConfigurationError:
            advice = installation().model or MISSING
            return Finding(name, "note", "its weights are not installed", advice)
        try:
            with file.open("rb") as opened:
                is_model = opened.read(4) == b"GGUF"
            size = file.stat().st_size
        except OSError as error:
            text = f"{file} cannot be read: {error.strerror}"
            return Finding(name, "warning", text, "Choose another file in the settings.")
        if not is_model:
            text = f"{file} is not a GGUF file"
            return Finding(name, "warning", text, "Choose another file in the settings.")
        if not _has_avx2():
            return Finding(name, "warning", TOO_OLD, "Use another provider, or Ollama.")
        about = "" if chosen else f". {ABOUT.rstrip('.')}"
        return Finding(name, "ok", f"{file.name}, {_size(size)}{about}")

    def tools(self) -> Finding:
        """Load the tool files, as each start of the program does."""
        found = discover(folders=[self._paths.tools])
        return _loaded("Tools", len(found.tools), found.problems)

    def agents(self) -> Finding:
        library = AgentFiles(self._paths.resources / "agents", *self._paths.agent_places)
        found = library.read(read_folder_files(Path.cwd()))
        if not found.by_name:
            text = f"none, not even in {self._paths.resources}"
            return Finding("Agents", "broken", text, "Install the program again.")
        return _loaded("Agents", len(found.by_name), found.problems)

    def servers(self) -> Finding:
        """Check the MCP servers without starting one."""
        name = "MCP servers"
        try:
            found = EntriesFile(self._paths.servers, self._paths.data / "servers.json").read()
        except StorageError as error:
            return Finding(name, "warning", str(error), "Mend or remove the file.")
        entries = found.by_name.values()
        on = [one for one in entries if one.runs]
        problems = list(found.problems)
        advice = "Look at it: agent-studio mcp list"
        fetched = str(uv_folder(self._paths.programs))
        places = os.pathsep.join((os.environ.get("PATH", ""), fetched))
        for one in on:
            known = bool(one.url) or "${" in one.command or Path(one.command).is_absolute()
            if not known and shutil.which(one.command, path=places) is None:
                problems.append(f"{one.name}: there is no program {one.command} here")
                if is_uv(one.command):
                    advice = "Fetch uv: agent-studio mcp get-uv"
        told = f"{len(entries)}, {len(on)} on" if entries else "none"
        if free := [one.name for one in on if one.command and not one.sandbox]:
            told += f"; with your rights and in no sandbox: {', '.join(free)}"
        if kept := [one.name for one in on if one.command and one.sandbox == "network"]:
            told += f"; in the sandbox with network: {', '.join(kept)}"
        if kept := [one.name for one in on if one.is_cut_off]:
            told += f"; in the sandbox without network: {', '.join(kept)}"
        changed = [one.name for one in entries if one.on and not one.runs]
        problems += [f"{one}: it changed since you approved it" for one in changed]
        if problems:
            return Finding(name, "warning", f"{told}; {'; '.join(problems)}", advice)
        return Finding(name, "ok" if entries else "note", told)

    def packs(self) -> Finding:
        """Check the files of packs and their databases (X-2, X-6)."""
        name, shipped = "Packs", self._paths.shipped_packs
        packs = InstalledPacks(self._paths.packs, lambda: brought_packs(shipped))
        try:
            found = packs.list()
        except StorageError as error:
            return Finding(name, "warning", str(error), "Mend or remove the file.")
        problems = list(packs.problems)
        problems += [
            f"{one.id}: its files are not those that you approved"
            for one in found
            if one.on and not one.runs
        ]
        for one in found:
            if not one.records.exists():
                continue
            try:
                if is_encrypted(one.records):
                    problems += _encrypted(one)
                    continue
                with closing(open_for_reading(one.records)) as db:
                    if (sound := _integrity(db)) not in ("ok", ""):
                        problems.append(f"{one.records} is damaged: {sound}")
            except sqlite3.Error as error:
                problems.append(str(explain_error(error, one.records)))
        told = f"{len(found)}, {sum(one.runs for one in found)} on" if found else "none"
        if problems:
            advice = "Look at them: agent-studio packs list"
            return Finding(name, "warning", f"{told}; {'; '.join(problems)}", advice)
        return Finding(name, "ok" if found else "note", told)

    def port(self) -> Finding:
        name, host, port = "Server port", self.values.server_host, self.values.server_port
        if not 0 <= port <= 65_535:
            advice = "Choose one from 1 to 65535: agent-studio config set server_port 8765"
            return Finding(name, "warning", f"there is no port {port}", advice)
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            with socket.socket(family, kind, protocol) as one:
                if os.name == "posix":
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                text = f"port {port} is in use, perhaps by Agent Studio’s own server"
            else:
                text = f"{host}:{port} cannot be used: {error.strerror}"
            advice = "If not, name another: agent-studio serve --port PORT"
            return Finding(name, "warning", text, advice)
        return Finding(name, "ok", f"port {port} of {host} is free")

    def last_crash(self) -> Finding:
        """Say where the last report is, also that of a program which crashes with each start."""
        name, last = "Last crash", CrashReports(self._paths.logs).last()
        if last is None:
            return Finding(name, "ok", "none")
        when = datetime.fromtimestamp(last.stat().st_mtime).astimezone()
        advice = "Read it before you give it to somebody: docs/crashes.md"
        return Finding(name, "note", f"{when:%Y-%m-%d %H:%M}, {last}", advice)

    def clock(self, dates: Sequence[tuple[float, float]]) -> Finding:
        """Compare the clock: ``dates`` are pairs of our time and a provider's at that moment."""
        now = datetime.now().astimezone()
        text = f"{now:%Y-%m-%d %H:%M %Z}"
        advice = "Set the clock: a wrong one breaks secure connections."
        if dates:
            ours, theirs = min(dates, key=lambda pair: abs(pair[0] - pair[1]))
            if abs(ours - theirs) > DRIFT:
                way = "ahead" if ours > theirs else "behind"
                text += f", {_span(abs(ours - theirs))} {way}"
                return Finding("Clock", "warning", text, advice)
            return Finding("Clock", "ok", f"{text}, as providers say")
        with suppress(OSError):
            if Path(studio.__file__).stat().st_mtime > time.time() + 24 * 3600:
                text += ", before this program was installed"
                return Finding("Clock", "warning", text, advice)
        return Finding("Clock", "ok", text)


def _integrity(db: sqlite3.Connection) -> str:
    """“ok”, or the damage; empty if the time was too short to check everything."""
    until = time.monotonic() + CHECK_SECONDS
    db.set_progress_handler(lambda: time.monotonic() > until, 20_000)
    try:
        return str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return ""
        raise


def _loaded(name: str, count: int, problems: Sequence[str]) -> Finding:
    if not problems:
        return Finding(name, "ok", f"{count}")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    text = f"{count}, without what could not be read: {problems[0]}{more}"
    command = f"agent-studio {name.lower()} list"
    return Finding(name, "warning", text, f"Correct the file. To see all of them: {command}")


def _has_avx2() -> bool:
    """Whether the processor seems able to run the built-in model's engine."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    try:
        flags = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:  # no Linux
        return True
    return "avx2" in flags.split()


def _encrypted(pack: InstalledPack) -> list[str]:
    """What is wrong with the encrypted database of a pack (KZ-44)."""
    try:
        if (key := PackKeys().read(pack.id)) is None:
            return [f"{pack.records} is damaged, or its key is not in the keychain"]
        found = damage(pack.records, key)
    except (*errors(), StudioError) as error:
        return [str(error)]
    return [f"{pack.records} is damaged: {found}"] if found else []


def _version(package: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _span(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 180 else f"{round(minutes / 60)} h"
