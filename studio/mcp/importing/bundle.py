"""Bundles: zip files with a server in them, ``.mcpb`` or ``.dxt`` (M-23).

What the manifest asks the person for (``user_config``) has its place in the keychain, whether it is
a password or not. A bundle is unpacked when its server is taken. Known are manifests 0.1 to 0.4.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from studio.files.folders import private_folder
from studio.files.unpacking import DAMAGED, UnpackError, check_measurable, place_within, unpack
from studio.mcp.entries import LONGEST_NAME, ServerEntry, key_prefix

from .common import read_object, table
from .found import Found, Keys, Surroundings, found_server, translated
from .hiding import KEYCHAIN

ENDINGS = (".mcpb", ".dxt")
MANIFEST = "manifest.json"
_MOST_MANIFEST = 4_000_000
"""Bytes: a manifest may list all tools."""
_PLACE = re.compile(r"\$\{([^{}]+)\}")
_USERS = "user_config."
NOT_HERE = "It is not made for this system."
NOTHING = "there is no manifest.json with a server in it"


def is_bundle(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS


def read_bundle(path: Path, around: Surroundings) -> Found:
    """The server of a bundle. Blocks.

    Raises ValueError, whose text goes on after the file's name.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            info = packed.getinfo(MANIFEST)
            if info.file_size > _MOST_MANIFEST:
                raise ValueError("its manifest is too large")
            check_measurable(info)
            data = packed.read(info)
            names = set(packed.namelist())
    except KeyError:
        raise ValueError(NOTHING) from None
    except UnpackError as error:
        raise ValueError(str(error).rstrip(".")) from error
    except DAMAGED as error:
        raise ValueError(str(error)) from error
    manifest = read_object(data.decode("utf-8-sig"))
    server = table(manifest.get("server"))
    name = str(manifest.get("display_name") or manifest.get("name") or "").strip()[:LONGEST_NAME]
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40]
    folder = around.bundles / f"{plain}-{_digest(path)}"
    made = _Made(name, folder, table(manifest.get("user_config")), around)
    entry = made.entry(server, names)
    found = found_server(Keys({}), entry, around, abouts=made.abouts)
    platforms = table(manifest.get("compatibility")).get("platforms")
    if isinstance(platforms, list) and around.platform not in cast("list[Any]", platforms):
        found = replace(found, problem=found.problem or NOT_HERE)
    return replace(found, bundle=path.absolute(), folder=folder)


class _Made:
    """Makes an entry of a manifest. ``abouts`` says what it tells of each value it asks for."""

    def __init__(
        self, name: str, folder: Path, asked: Mapping[str, Any], around: Surroundings
    ) -> None:
        self._name, self._folder, self._asked, self._around = name, folder, asked, around
        self.abouts: dict[str, str] = {}

    def entry(self, server: Mapping[str, Any], names: set[str]) -> ServerEntry:
        given = dict(table(server.get("mcp_config")))
        overrides = table(given.pop("platform_overrides", None))
        config = {**given, **table(overrides.get(self._around.platform))}
        start = str(server.get("entry_point") or "")
        if not config and server.get("type") == "uv":
            run = ["run", "--directory", str(self._folder), start]
            config = {"command": "uv", "args": run}
        keys = Keys(config)
        command = self._filled(keys.text("command"))
        if command in names or f"{command}.exe" in names:
            command = str(self._folder / command)
        return ServerEntry(
            self._name,
            command,
            tuple(word for one in keys.texts("args") for word in self._words(one)),
            translated({**table(given.get("env")), **keys.pairs("env")}, self._filled),
            str(self._folder) if command else "",
        )

    def _words(self, text: str) -> Iterable[str]:
        """An argument; one that is nothing but a list is as many arguments."""
        whole = _PLACE.fullmatch(text)
        asked = self._asked.get(whole[1].removeprefix(_USERS)) if whole else None
        default = table(asked).get("default")
        if isinstance(default, list) and default:
            return [self._filled(str(one)) for one in cast("list[Any]", default)]
        filled = self._filled(text)
        return [filled] if filled or not whole else []

    def _filled(self, text: str) -> str:
        return _PLACE.sub(lambda match: self._value(match), text)

    def _value(self, match: re.Match[str]) -> str:
        home = self._around.home
        known = {
            "__dirname": self._folder,
            "HOME": home,
            "DESKTOP": home / "Desktop",
            "DOCUMENTS": home / "Documents",
            "DOWNLOADS": home / "Downloads",
            "pathSeparator": "\\" if self._around.platform == "win32" else "/",
        }
        word = "pathSeparator" if match[1] == "/" else match[1]
        if word in known:
            return str(known[word])
        if not word.startswith(_USERS):
            return match[0]
        key = word.removeprefix(_USERS)
        given = table(self._asked.get(key))
        default = given.get("default")
        if isinstance(default, list):
            default = cast("list[Any]", default)[0] if default else None
        if not given.get("sensitive") and isinstance(default, str | int | float):
            text = str(default).lower() if isinstance(default, bool) else str(default)
            return text if _USERS in text else self._filled(text)
        if not given.get("required") and not given.get("sensitive"):
            return ""
        short = re.sub(r"[^\w.-]+", "-", key)
        self.abouts[short] = str(given.get("description") or given.get("title") or "")
        return f"${{{KEYCHAIN}{key_prefix(self._name)}{short}}}"


def _digest(bundle: Path) -> str:
    """Tells one bundle from all others: none may replace the files of one that was approved."""
    with bundle.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:20]


def unpack_bundle(found: Found) -> None:
    """Put the files of a bundle in their place. Blocks.

    Raises UnpackError, also where the bundle is not the one any more that was read, or OSError.
    """
    assert found.bundle is not None and found.folder is not None
    above = private_folder(found.folder.parent)
    fresh = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=above))
    try:
        unpack(found.bundle, fresh)
        if not found.folder.name.endswith(_digest(found.bundle)):
            raise UnpackError("The bundle was changed meanwhile: open it again.")
        start = Path(found.entry.command)
        if start.is_relative_to(found.folder):
            place = start.relative_to(found.folder).as_posix()
            inside = [fresh / one for one in (place, f"{place}.exe") if place_within(one)]
            program = next((one for one in inside if one.is_file()), None)
            if program is None:
                raise UnpackError("The bundle is damaged: the program that it starts is not in it.")
            program.chmod(0o700)  # a zip file of Windows says of none that it runs
        shutil.rmtree(found.folder, ignore_errors=True)
        fresh.rename(found.folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def delete_unused(bundles: Path, deleted: ServerEntry, entries: Iterable[ServerEntry]) -> None:
    """Delete the files of a deleted server that came in a bundle and no other has. Blocks."""

    def names(entry: ServerEntry) -> str:
        return json.dumps([entry.command, entry.folder, *entry.arguments])

    used = [names(one) for one in entries]
    for folder in bundles.iterdir() if bundles.is_dir() else ():
        name = folder.name
        if name in names(deleted) and not any(name in one for one in used):
            shutil.rmtree(folder, ignore_errors=True)
