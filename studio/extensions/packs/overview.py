"""Overview: says in one text all that a pack brings, before it is installed (X-2).

All in it are a stranger's words; none can hide a character or begin a line of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from studio.agent.agent_files.parser import parse_agent
from studio.agent.permission.invisible_characters import escape_invisible, escape_line
from studio.extensions.documents import read_document
from studio.extensions.hooks.hook_file import parse_hooks

from .contents import digest_of, pack_files
from .manifest import MAX_BYTES, PackManifest, Part, PartName
from .origins import Origin
from .script_heads import LEAST_PYTHON, read_needs
from .servers import DATA, ROOT, pack_servers

_MOST_FILES = 200
"""Files that are named."""
_MOST_CODE = 20_000
"""Characters of a file that is shown whole."""


def overview(manifest: PackManifest, origin: Origin, digest: str) -> str:
    """The text; blocks. ``digest`` is that of the contents where it is known."""
    return "\n".join(_lines(manifest, origin, digest)).rstrip() + "\n"


def _lines(manifest: PackManifest, origin: Origin, digest: str) -> Iterator[str]:
    version = f" {manifest.version}" if manifest.version else ""
    yield f"{manifest.name}{version} ({manifest.id})"
    if manifest.description:
        yield manifest.description
    if manifest.author:
        yield f"By {manifest.author}, as it says"
    yield f"From: {origin.shown}"
    yield f"Contents: SHA-256 {(digest or digest_of(manifest.folder))[:16]}…"
    yield ""
    for name, part in manifest.parts().items():
        yield _TITLES[name].format(count=len(part.files))
        yield from (f"  {line}" for line in _TELL[name](manifest, part))
        yield ""
    pages = manifest.parts().get("pages")
    if pages and not origin.is_in_place and any(one.suffix == ".py" for one in pages.files):
        yield "Its pages in Python are not shown: only pages in YAML are, of a pack of this origin."
        yield ""
    schema = manifest.parts().get("schema")
    if schema and not origin.is_in_place and any(one.suffix == ".py" for one in schema.files):
        yield "Its steps in Python run with its tools, in their process: the pages wait for that."
        yield ""
    if not manifest.parts():
        yield "It brings nothing that is used here."
        yield ""
    wants = manifest.wants
    for title, wanted in (
        ("Folders it would like to reach", wants.folders),
        ("Hosts it would like to reach", wants.hosts),
        ("Secrets it would like from the keychain", wants.keychain),
    ):
        if wanted:
            yield f"{title}: {', '.join(wanted)}"
    if wants != type(wants)():
        yield "That it says so allows none of it."
        yield ""
    if manifest.problems:
        yield "Left out, or without effect"
        yield from (f"  {escape_line(one, 500)}" for one in manifest.problems)
        yield ""
    files = list(pack_files(manifest.folder))
    size = sum(one.size for one in files)
    yield f"All files: {len(files)}, {size:,} bytes"
    for one in files[:_MOST_FILES]:
        runs = ", a program" if one.runnable else ""
        yield f"  {escape_line(one.name)} ({one.size:,} bytes{runs})"
    if len(files) > _MOST_FILES:
        yield f"  and {len(files) - _MOST_FILES} more"


def _prose(manifest: PackManifest, part: Part) -> Iterator[str]:
    for path in part.files:
        below = path.parent.name if part.name == "skills" else path.relative_to(part.path)
        name = below if isinstance(below, str) else below.with_suffix("").as_posix()
        try:
            document = read_document(path)
            about = document.text("description") or document.body.split("\n", 1)[0]
            if part.name == "workflows":
                name = document.text("name") or name
        except (OSError, ValueError) as error:
            about = f"cannot be read: {error}"
        yield escape_line(f"{name}: {about}", 500)


def _agents(manifest: PackManifest, part: Part) -> Iterator[str]:
    for path in part.files:
        try:
            agent = parse_agent(path.read_text("utf-8-sig"), path)
        except (OSError, ValueError) as error:
            yield escape_line(f"{path.name} cannot be read: {error}")
            continue
        yield escape_line(f"{agent.name}: {agent.description}", 500)
        yield f"  tools: {escape_line(', '.join(agent.tools), 500) or 'none'}; {agent.role}"
        for rule in agent.permissions:
            yield f"  {rule.verdict}: {escape_line(str(rule), 500)}"


def _servers(manifest: PackManifest, part: Part) -> Iterator[str]:
    data = manifest.folder / DATA  # where it is kept is known once it is installed
    found = pack_servers(manifest, data)
    for entry in found.by_name.values():
        shown = entry.shown.replace(str(data), f"${{{DATA}}}")
        shown = shown.replace(str(manifest.folder), f"${{{ROOT}}}")
        yield escape_line(f"{entry.name}: {shown}", 1_000)
        for name, value in (*entry.environment.items(), *entry.headers.items()):
            if name in (ROOT, DATA):
                continue
            yield f"  {escape_line(f'{name}={value}', 500)}"
    yield from (escape_line(f"left out: {one}", 500) for one in found.problems)


def _whole(manifest: PackManifest, part: Part) -> Iterator[str]:
    """Files that run or decide something: every line."""
    for path in part.files:
        if len(part.files) > 1 or part.path != path:
            yield escape_line(path.relative_to(part.path).as_posix())
        text = path.read_bytes().decode("utf-8", "replace")
        for line in escape_invisible(text[:_MOST_CODE]).splitlines():
            yield f"  {line}"
        if len(text) > _MOST_CODE:
            yield f"  and {len(text) - _MOST_CODE:,} more characters"


def _hooks(manifest: PackManifest, part: Part) -> Iterator[str]:
    """Every command with what it runs at, as it is read when it runs."""
    try:
        data = part.path.read_bytes()
    except OSError as error:
        yield escape_line(f"cannot be read: {error}")
        return
    hooks, findings = parse_hooks(data, part.path.name, "pack", str(manifest.folder))
    for one in hooks:
        at = f"{one.event} {one.matcher}" if one.matcher else one.event
        never = f" ({one.reason})" if one.state == "never" else ""
        yield escape_line(f"{at}: {one.command}{never}", 1_000)
    yield from (escape_line(f"left out: {one.words}", 500) for one in findings)


def _names(manifest: PackManifest, part: Part) -> Iterator[str]:
    for path in part.files[:_MOST_FILES]:
        yield escape_line(path.relative_to(part.path).as_posix())


def _tools(manifest: PackManifest, part: Part) -> Iterator[str]:
    needs = read_needs(manifest)
    if needs.packages:
        yield f"needs: {', '.join(escape_line(one, MAX_BYTES) for one in needs.packages)}"
    if needs.python != LEAST_PYTHON:
        yield f"needs Python {needs.python}"
    yield from needs.wrong
    yield from _whole(manifest, part)


_TITLES: dict[PartName, str] = {
    "skills": "Skills, which agents may open: {count}",
    "commands": "Commands, which you call by hand: {count}",
    "agents": "Agents: {count}",
    "workflows": "Workflows: {count}",
    "mcp": "MCP servers, each off until you switch it on",
    "hooks": "Hooks, commands that run at events",
    "tools": "Tools in Python, files of code: {count}",
    "schema": "Tables of its own database, steps: {count}",
    "pages": "Pages in the window: {count}",
    "data": "Files of data: {count}",
}
_TELL: dict[PartName, Callable[[PackManifest, Part], Iterator[str]]] = {
    "skills": _prose,
    "commands": _prose,
    "agents": _agents,
    "workflows": _prose,
    "mcp": _servers,
    "hooks": _hooks,
    "tools": _tools,
    "schema": _whole,
    "pages": _whole,
    "data": _names,
}
