"""Rights: says what an update of a pack may newly do, or not any more, in a few lines (X-2).

What runs and what is wished for counts: hosts, folders, secrets, packages, servers, hooks, agents
and code. All other files are only counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from studio.agent.agent_files.parser import parse_agent
from studio.agent.permission.invisible_characters import escape_line
from studio.domain.codec import encode
from studio.domain.ledger import canonical_json
from studio.domain.records import dataclass
from studio.extensions.finder import SCRIPTS
from studio.extensions.hooks.hook_file import parse_hooks

from .contents import PackFile, changed_files, pack_files
from .manifest import FOREIGN, MANIFEST, PackManifest
from .script_heads import read_needs
from .servers import DATA, ROOT, pack_servers

RightKind: TypeAlias = Literal[
    "host", "folder", "secret", "package", "server", "hook", "agent", "code"
]
"""``code``: a file that is a program, or the Python of a tool."""
LINE = 500
"""Characters of a stranger's words."""
_WORDS = ("prompt", "description", "source", "icon", "hue")
"""What of an agent is no right."""


@dataclass(frozen=True, slots=True)
class Right:
    """One thing that a pack may do; ``contents`` tells another of the same name."""

    kind: RightKind
    name: str
    contents: str = ""


@dataclass(frozen=True, slots=True)
class RightChange:
    """A right that came, went, or is another now: then it came, and is ``changed``."""

    kind: RightKind
    name: str
    came: bool
    changed: bool = False


def changed_rights(before: PackManifest, after: PackManifest) -> tuple[RightChange, ...]:
    """What came and changed, then what went; blocks."""
    old, new = _contents(before), _contents(after)
    came = [
        RightChange(one.kind, one.name, came=True, changed=one in old)
        for one, contents in new.items()
        if old.get(one) != contents
    ]
    went = (RightChange(one.kind, one.name, came=False) for one in old if one not in new)
    return (*came, *went)


def changed_texts(before: PackManifest, after: PackManifest) -> int:
    """How many other files are new, gone or changed; blocks."""
    known = {MANIFEST, FOREIGN.as_posix()}
    for manifest in (before, after):
        root = manifest.folder.resolve()
        for name in ("mcp", "hooks", "agents"):
            part = manifest.parts().get(name)
            files = part.files if part else ()
            known |= {one.resolve().relative_to(root).as_posix() for one in files}
        known |= {one.name for one in pack_files(manifest.folder) if _is_code(one)}
    return sum(one not in known for one in changed_files(before.folder, after.folder))


def _is_code(file: PackFile) -> bool:
    return file.runnable or file.path.suffix.lower() in SCRIPTS


def _contents(manifest: PackManifest) -> dict[Right, list[str]]:
    """The rights without contents, with those of all that look the same."""
    found: dict[Right, list[str]] = {}
    for one in _rights(manifest):
        found.setdefault(replace(one, contents=""), []).append(one.contents)
    return found


def _rights(manifest: PackManifest) -> Iterator[Right]:
    wants, parts = manifest.wants, manifest.parts()
    yield from (Right("host", escape_line(one, LINE)) for one in wants.hosts)
    yield from (Right("folder", escape_line(one, LINE)) for one in wants.folders)
    yield from (Right("secret", escape_line(one, LINE)) for one in wants.keychain)
    yield from (Right("package", escape_line(one, LINE)) for one in read_needs(manifest).packages)
    data = manifest.folder / DATA
    places = {str(data): f"${{{DATA}}}", str(manifest.folder): f"${{{ROOT}}}"}
    for entry in pack_servers(manifest, data).by_name.values():
        said = {**entry.environment, **entry.headers}
        rest = (f"{name}={one}" for name, one in said.items() if name not in (ROOT, DATA))
        shown = _without(places, f"{entry.name}: {entry.shown}")
        whole = _without(places, "\n".join((shown, *rest)))
        yield Right("server", escape_line(shown, LINE), whole)
    if hooks := parts.get("hooks"):
        for one in parse_hooks(_read(hooks.path), hooks.path.name, "pack", str(manifest.folder))[0]:
            at = f"{one.event} {one.matcher}" if one.matcher else one.event
            whole = _without(places, f"{at}: {one.command}")
            yield Right("hook", escape_line(whole, LINE), whole)
    for path in parts["agents"].files if "agents" in parts else ():
        try:
            agent = parse_agent(path.read_text("utf-8-sig"), path)
        except (OSError, ValueError):
            continue  # it is left out
        said = replace(agent, **dict.fromkeys(_WORDS, ""))
        yield Right("agent", escape_line(agent.name, LINE), canonical_json(encode(said)))
    for file in pack_files(manifest.folder):
        if _is_code(file):
            digest = hashlib.sha256(_read(file.path)).hexdigest()
            yield Right("code", escape_line(file.name, LINE), digest)


def _without(places: Mapping[str, str], text: str) -> str:
    """The text without the folders in which this version lies."""
    for place, name in places.items():
        text = text.replace(place, name)
    return text


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
