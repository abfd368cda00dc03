"""Finder: which skills and commands there are for a folder, and what is wrong with them (K-4, K-7).

The folder's own come before the person's, and these before those of packs; of two with one name the
first is used, and the other told. A folder's own are read only where the person trusts it (K-3).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from studio.agent.folder_files import COMMAND_PLACES, SKILL_PLACES
from studio.agent.permission.invisible_characters import escape_line
from studio.domain.extensions import Extension, Extensions, Finding, Kind, PackPlace, Place
from studio.domain.records import dataclass
from studio.storage.paths import Paths

from .documents import Document, read_document

SKILL_FILE = "SKILL.md"
DEEPEST = 4
MOST_FOLDERS = 2_000
MOST_NAME = 64
MOST_DESCRIPTION = 1_024
SAMPLE_DESCRIPTION = (
    "What it does, and when an agent should open it. Name the words of such a task."
)
"""That of a new skill, until the person writes another one."""
MOST_HINT = 200
SCRIPTS = {
    *(".py", ".sh", ".bash", ".zsh", ".fish", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php"),
    *(".r", ".jl", ".lua", ".ps1", ".bat", ".cmd"),
}
"""Endings of files that are run as commands."""
FIRST_LINE = 200
"""Characters of a command's first line, where its file has no description."""
_SKILL_NAME = re.compile(rf"[a-z0-9-]{{1,{MOST_NAME}}}")
_COMMAND_PART = re.compile(r"\w[\w.-]*")
_ORDER: dict[Place, int] = {"folder": 0, "own": 1, "pack": 2}
_SKIPPED = {"node_modules", "__pycache__"}
_READ = {
    *("name", "description", "argument-hint", "allowed-tools"),
    *("user-invocable", "disable-model-invocation"),
}
_KEPT = {"license", "compatibility", "metadata", "version", "author", "tags", "when_to_use"}
"""Keys that say something about a file to people and ask for nothing."""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder with skills or commands, how many folders deep.

    ``within``: links may not lead out of that folder. ``pack`` is the name of the pack that has it.
    """

    kind: Kind
    folder: Path
    place: Place
    within: Path | None = None
    pack: str = ""
    deepest: int = DEEPEST


_Known = tuple[tuple[int, int], Extension | None, tuple[Finding, ...]]
"""A file's time and size, and what it says."""


class ExtensionFinder:
    """Reads the folders at each call, so that saved changes apply at once, and files only once."""

    def __init__(
        self, paths: Paths, packs: Callable[[str], Sequence[PackPlace]] = lambda _kind: ()
    ) -> None:
        """``packs`` finds where packs have skills or commands, and blocks."""
        self._packs = packs
        config, home = paths.config, paths.home
        skills = [config / "skills", *(home / one for one in SKILL_PLACES)]
        commands = [config / "commands", *(home / one for one in COMMAND_PLACES)]
        commands.append(home / ".codex" / "prompts")
        self._own = [
            *(Source("skill", one, "own") for one in skills),
            *(Source("command", one, "own") for one in commands),
        ]
        self._read: dict[tuple[str, str, str], _Known] = {}
        """What each file says, by its path, place and pack, while it is unchanged."""

    def read(self, folder: Path | None = None, trusted: bool = True) -> Extensions:
        """All that can be used in a folder; without one, the person's own. Blocks."""
        sources = [*self._own]
        if folder is not None and trusted:
            within = folder.resolve()
            of_folder = [Source("skill", folder / one, "folder", within) for one in SKILL_PLACES]
            of_folder += [
                Source("command", folder / one, "folder", within) for one in COMMAND_PLACES
            ]
            sources = [*of_folder, *sources]
        sources += [
            Source("skill", one.path, "pack", one.path.resolve(), one.name, 1)
            for one in self._packs("skills")
        ]
        sources += [
            Source("command", one.path, "pack", one.path.resolve(), one.name)
            for one in self._packs("commands")
        ]
        sources.sort(key=lambda one: (_ORDER[one.place], one.kind == "command"))
        names: dict[str, Extension] = {}
        findings: list[Finding] = []
        files: set[tuple[int, int]] = set()
        for source in sources:
            walk = _skills if source.kind == "skill" else _commands
            for path, name in walk(source, findings):
                try:
                    state = os.stat(path)  # noqa: PTH116 - to parse a path takes longer
                    if (identity := (state.st_dev, state.st_ino)) in files:
                        continue  # a link to what was read
                    found, wrong = self._extension(source, path, name, state)
                except (OSError, ValueError) as error:
                    words = (isinstance(error, OSError) and error.strerror) or str(error)
                    findings.append(Finding(path, words, left_out=True))
                    continue
                files.add(identity)
                findings += wrong
                if found is None:
                    continue
                if (before := names.get(found.name)) is not None:
                    words = f"not used here: {before.path} comes first"
                    findings.append(Finding(found.path, words, True, before.path))
                else:
                    names[found.name] = found
        found = sorted(names.values(), key=lambda one: (_ORDER[one.place], one.kind != "skill"))
        return Extensions(tuple(found), tuple(findings))

    def _extension(
        self, source: Source, path: str, name: str, state: os.stat_result
    ) -> tuple[Extension | None, tuple[Finding, ...]]:
        """Raises OSError or ValueError for a file that cannot be read."""
        within = source.within
        if within is not None and not _is_within(Path(path), within):
            raise ValueError("a link leads out of the folder")
        mark, key = (state.st_mtime_ns, state.st_size), (path, source.place, source.pack)
        known = self._read.get(key)
        if known is None or known[0] != mark:
            file = Path(path)
            document = read_document(file)
            make = _skill if source.kind == "skill" else _command
            findings: list[Finding] = []
            made = make(document, file, name, findings)
            found = made and replace(made, place=source.place, pack=source.pack)
            known = self._read[key] = mark, found, tuple(findings)
        return known[1], known[2]


def skills_in(folder: Path) -> tuple[dict[str, Path], list[Finding]]:
    """The folders of skills below a folder that is anywhere, by name; it may be one itself. Blocks.

    With what is left out, and why.
    """
    source = Source("skill", folder, "own", folder)
    findings: list[Finding] = []
    found: dict[str, Path] = {}
    for path, name in _skills(source, findings, itself=True):
        file = Path(path)
        if not _is_within(file, folder):
            findings.append(Finding(path, "a link leads out of the folder", left_out=True))
        elif name in found:
            words = f"not used here: {found[name] / SKILL_FILE} comes first"
            findings.append(Finding(path, words, left_out=True))
        else:
            found[name] = file.parent
    return found, findings


def scripts_of(skill: Extension) -> tuple[str, ...]:
    """The files of a skill that are run as commands (K-6), relative to its folder. Blocks."""
    folder = Path(skill.folder)
    found: list[str] = []
    for place, files, enter in _folders(Source("skill", folder, skill.place, folder), []):
        enter()
        for name in files:
            file = Path(place, name)
            if file.suffix.lower() in SCRIPTS or _may_be_run(file):
                found.append(file.relative_to(folder).as_posix())
    return tuple(found)


def _may_be_run(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & stat.S_IXUSR)
    except OSError:
        return False


def _is_within(file: Path, folder: Path) -> bool:
    return not file.is_symlink() or file.resolve().is_relative_to(folder)


def _skill(document: Document, path: Path, name: str, findings: list[Finding]) -> Extension | None:
    description = document.text("description")
    if not description:
        findings.append(Finding(str(path), f"{SKILL_FILE} has no description", left_out=True))
        return None
    if len(description) > MOST_DESCRIPTION:
        words = f"the description is longer than {MOST_DESCRIPTION:,} characters, and is cut"
        findings.append(Finding(str(path), words))
    if description == SAMPLE_DESCRIPTION:
        words = "the description is still the sample’s; say in it when an agent opens the skill"
        findings.append(Finding(str(path), words))
    if not document.body:
        findings.append(Finding(str(path), "the instructions below the frontmatter are missing"))
    if (other := document.text("name")) not in ("", name):
        findings.append(
            Finding(str(path), f"it calls itself {escape_line(other)}; its folder’s name counts")
        )
    return _made("skill", document, path, name, description, findings)


def _command(
    document: Document, path: Path, name: str, findings: list[Finding]
) -> Extension | None:
    if not document.body:
        findings.append(Finding(str(path), "the file has no text", left_out=True))
        return None
    first = document.body.split("\n", 1)[0].strip("# \t")[:FIRST_LINE]
    return _made("command", document, path, name, document.text("description") or first, findings)


def _made(
    kind: Kind,
    document: Document,
    path: Path,
    name: str,
    description: str,
    findings: list[Finding],
) -> Extension:
    if document.lenient:
        findings.append(Finding(str(path), "the frontmatter is no YAML; it was read line by line"))
    if unused := sorted(set(document.keys) - _READ - _KEPT):
        words = f"without effect here: {escape_line(', '.join(unused))}"
        findings.append(Finding(str(path), words))
    return Extension(
        kind,
        name,
        escape_line(description, MOST_DESCRIPTION),
        document.body,
        str(path),
        str(path.parent),
        "own",
        for_model=kind == "skill" and not document.on("disable-model-invocation", False),
        for_person=document.on("user-invocable", True),
        hint=escape_line(document.text("argument-hint"), MOST_HINT),
        wishes=document.names("allowed-tools"),
    )


def _skills(
    source: Source, findings: list[Finding], *, itself: bool = False
) -> Iterator[tuple[str, str]]:
    """The files of skills with their names; a folder in a skill's is a part of the skill.

    ``itself``: the source's folder may be a skill's, too.
    """
    for folder, files, enter in _folders(source, findings):
        file = next((one for one in files if one.lower() == SKILL_FILE.lower()), None)
        if file is None or (folder == str(source.folder) and not itself):
            enter()
            continue
        path, name = f"{folder}{os.sep}{file}", folder.rpartition(os.sep)[2]
        if _SKILL_NAME.fullmatch(name):
            yield path, name
        else:
            words = f"a skill’s folder has a name of at most {MOST_NAME} of a-z, 0-9 and -"
            findings.append(Finding(path, words, left_out=True))


def _commands(source: Source, findings: list[Finding]) -> Iterator[tuple[str, str]]:
    """The files of commands with their names: those in folders as ``folder:name``."""
    for folder, files, enter in _folders(source, findings):
        enter()
        above = Path(folder).relative_to(source.folder).parts
        for file in files:
            stem, end = Path(file).stem, Path(file).suffix
            if end.lower() != ".md" or stem.lower() == "readme":
                continue
            parts = (*above, stem)
            path = f"{folder}{os.sep}{file}"
            if all(map(_COMMAND_PART.fullmatch, parts)):
                yield path, ":".join(parts)
            else:
                words = "a command’s name has letters, digits, - and _ alone"
                findings.append(Finding(path, words, left_out=True))


def _folders(
    source: Source, findings: list[Finding]
) -> Iterator[tuple[str, list[str], Callable[[], None]]]:
    """Folders with the names of their files, in order; the function goes on with those below.

    Paths are texts: there may be hundreds, and they are walked with every message.
    """
    ahead = [(str(source.folder), 0, True)]
    seen: set[Path] = set()
    count = 0
    while ahead:
        folder, depth, linked = ahead.pop()
        count += 1
        if count > MOST_FOLDERS:
            findings.append(Finding(folder, f"more than {MOST_FOLDERS:,} folders", left_out=True))
            return
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=attrgetter("name"))
        except OSError:  # none there
            continue
        if linked:
            real = Path(folder).resolve()
            if source.within is not None and not real.is_relative_to(source.within):
                findings.append(Finding(folder, "a link leads out of the folder", left_out=True))
                continue
            if real in seen:
                continue
            seen.add(real)
        files = [one.name for one in listed if not one.is_dir()]
        below = [
            (one.path, depth + 1, one.is_symlink())
            for one in reversed(listed)
            if one.is_dir() and not one.name.startswith(".") and one.name not in _SKIPPED
        ]

        def enter(below: list[tuple[str, int, bool]] = below, depth: int = depth) -> None:
            if depth < source.deepest:
                ahead.extend(below)

        yield folder, files, enter
