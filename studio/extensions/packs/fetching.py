"""Fetching: gets a pack from a folder, a zip file, git or a marketplace; nothing of it runs (X-2).

A zip file that grows beyond bounds is refused. A marketplace is a list of packs
(``marketplace.json``), in a folder or in git.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.jsonvalue import JsonObject, as_object
from studio.domain.records import dataclass
from studio.domain.redaction import redact, without_secrets
from studio.files.folders import private_folder
from studio.files.unpacking import UnpackError, unpack
from studio.processes.environment import child_environment

from .contents import DEEPEST, MOST_BYTES
from .manifest import FOREIGN, MANIFEST, MOST_FILES, PackError, contained
from .origins import Origin

MARKET = "marketplace.json"
MARKET_PLACES = (Path(".claude-plugin") / MARKET, Path(MARKET))
GIT_SECONDS = 300.0
_GIT = re.compile(r"(?:https?|ssh|git|file)://[^\s]+|[\w.-]+@[\w.-]+:[^\s]+", re.I)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A pack's files, as they came; ``problems`` say what was left out."""

    origin: Origin
    folder: Path
    problems: tuple[str, ...] = ()


class ManyPacks(PackError):
    """There are several packs, ``names``, and none was named."""

    def __init__(self, wanted: str, names: list[str]) -> None:
        self.names = names
        super().__init__(f"{wanted} has several packs: {', '.join(names)}. Name one of them.")


def fetch(wanted: str, name: str, into: Path) -> Fetched:
    """Fetch a pack; ``into`` is a folder that is not there yet. Raises PackError or OSError."""
    found = _fetched(wanted.strip(), into)
    if _is_pack(found.folder):
        if name:
            raise PackError(f"{wanted} is one pack and no marketplace, so it has no {name}.")
        return found
    market = next(
        (found.folder / one for one in MARKET_PLACES if (found.folder / one).is_file()), None
    )
    if market is None:
        raise PackError(f"{escape_line(wanted)} is no pack: it has no {MANIFEST}.")
    return _of_market(found, market, name, into.with_name(f"{into.name}-2"))


def _is_pack(folder: Path) -> bool:
    return any(os.path.lexists(folder / one) for one in (MANIFEST, FOREIGN))


def _fetched(wanted: str, into: Path) -> Fetched:
    """The files that an origin names: a pack, or a marketplace."""
    path = Path(wanted).expanduser()
    if wanted and path.is_dir():
        return Fetched(Origin("folder", str(path.resolve())), path.resolve())
    if wanted and path.is_file():
        if path.name == MARKET:
            above = path.resolve().parent
            folder = above.parent if above.name == FOREIGN.parent.name else above
            return Fetched(Origin("folder", str(folder)), folder)
        return _unpack(path.resolve(), into)
    address, _, reference = wanted.partition("#")
    if _GIT.fullmatch(address):
        return _clone(wanted, address, reference, into)
    raise PackError(
        f"“{escape_line(wanted)}” is no folder, no zip file and no address for git (https://…, "
        "ssh://…, git@host:…)."
    )


# Zip files


def _unpack(path: Path, into: Path) -> Fetched:
    try:
        left_out = unpack(path, into, most_files=MOST_FILES, most_bytes=MOST_BYTES, deepest=DEEPEST)
    except UnpackError as error:
        raise PackError(str(error)) from error
    folder = into
    inside = [one for one in into.iterdir() if not one.name.startswith("__MACOSX")]
    if not _is_pack(into) and len(inside) == 1 and inside[0].is_dir():
        folder = inside[0]  # the pack's folder was packed, not what is in it
    problems = (
        f"{escape_line(name)} of the zip file leads out of it or is a link: left out."
        for name in left_out
    )
    return Fetched(Origin("zip", str(path)), folder, tuple(problems))


# Git


def _clone(wanted: str, address: str, reference: str, into: Path) -> Fetched:
    git = shutil.which("git")
    if git is None:
        raise PackError("git was not found, which fetches packs from an address. Install it.")
    if (shown := without_secrets(address)) != address:
        raise PackError(
            f"{escape_line(shown)}: a password or a key in an address would be kept in a file. Let "
            "git know it, by a credential helper, and name the address without it."
        )
    if reference.startswith("-"):
        raise PackError(f"“{escape_line(reference)}” is no branch, tag or commit.")
    private_folder(into)
    _git(git, into, "init", "--quiet")
    _git(git, into, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--",
         address, reference or "HEAD")  # fmt: skip
    commit = _git(git, into, "rev-parse", "FETCH_HEAD").strip()
    _git(git, into, "checkout", "--quiet", "--force", commit)
    return Fetched(Origin("git", wanted, address=wanted, commit=commit), into)


def _git(git: str, folder: Path, *arguments: str) -> str:
    """Run git without hooks, questions and helpers of the repository; raises PackError."""
    environment = {
        **{key: one for key, one in child_environment().items() if not key.startswith("GIT_")},
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }
    safe = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.ext.allow=never")
    options = [part for one in safe for part in ("-c", one)]
    try:
        done = subprocess.run(
            [git, *options, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PackError(f"git did not end within {GIT_SECONDS:.0f} seconds.") from error
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason"]
        raise PackError(f"git could not fetch it: {escape_line(redact(words[-1]))}")
    return done.stdout.decode("utf-8", "replace")


# Marketplaces


def _of_market(found: Fetched, market: Path, name: str, into: Path) -> Fetched:
    """The pack of a marketplace; the origin still says where the marketplace is."""
    listed = dict(_listed(market))
    if not name and len(listed) == 1:
        name = next(iter(listed))
    if not name:
        raise ManyPacks(found.origin.wanted, sorted(listed))
    if name not in listed:
        known = ", ".join(sorted(listed)) or "none"
        raise PackError(f"{found.origin.wanted} has no pack {escape_line(name)}. It has: {known}.")
    source = listed[name]
    if isinstance(source, str):
        folder = contained(found.folder / source, found.folder.resolve())
        if folder is None or not folder.is_dir():
            raise PackError(f"{MARKET}: the folder of {name} is not in the marketplace.")
        return replace(found, origin=replace(found.origin, name=name), folder=folder)
    kind, below = source.get("source"), ""
    if kind == "github":
        address = f"https://github.com/{source.get('repo')}.git"
    elif kind in ("url", "git-subdir", "git"):
        address, below = str(source.get("url", "")), str(source.get("path", ""))
    else:
        raise PackError(f"{MARKET}: {name} is from “{escape_line(str(kind))}”, not known here.")
    if not _GIT.fullmatch(address):
        raise PackError(f"{MARKET}: “{escape_line(address)}” of {name} is no address for git.")
    reference = str(source.get("sha") or source.get("ref") or "")
    cloned = _clone(address, address, reference, into)
    folder = contained(cloned.folder / below, cloned.folder.resolve())
    if folder is None or not folder.is_dir():
        raise PackError(f"{MARKET}: the folder of {name} is not in {address}.")
    origin = replace(cloned.origin, wanted=found.origin.wanted, name=name)
    return Fetched(origin, folder, cloned.problems)


def _listed(market: Path) -> Iterator[tuple[str, str | JsonObject]]:
    """The packs of a marketplace with where each is."""
    try:
        if market.stat().st_size > 5_000_000:
            raise PackError(f"{market} is larger than 5 MB.")
        value = as_object(json.loads(market.read_bytes().decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        raise PackError(f"{market} is no JSON: {escape_line(str(error))}.") from error
    root = as_object(value.get("metadata")).get("pluginRoot")
    plugins = value.get("plugins")
    for one in plugins if isinstance(plugins, list) else ():
        entry = as_object(one)
        name, source = entry.get("name"), entry.get("source")
        if isinstance(name, str) and isinstance(source, str | dict):
            if isinstance(source, str) and isinstance(root, str) and not source.startswith("./"):
                source = f"{root}/{source}"
            yield escape_line(name), source
