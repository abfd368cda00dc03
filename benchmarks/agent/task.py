"""Tasks: reads the files in ``tasks``, each a person's words, a folder, a check and a solution.

A task is a markdown file, an eval of one case. README.md describes its sections.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias, get_args

import yaml

TASKS = Path(__file__).parent / "tasks"
Kind: TypeAlias = Literal[
    "fault", "feature", "refactoring", "terminal", "reading", "injection", "long"
]
_FENCE = re.compile(r"^(`{3,})(\w*)\s*$")
_PLACE = re.compile(r"`([^`]+)`")
_WRONG = re.compile(r"Wrong(?: \((\w)\))?: (.+)")
_KEYS = {"title", "kind", "agent", "steps", "seconds", "window", "test", "deny"}


class TaskError(ValueError):
    """What is wrong with a task's file, for whoever writes it."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one file of the folder.

    ``whole`` is its new text, ``edits`` are texts that are in it once and their replacements;
    with neither it is deleted. ``code`` is Python that is run in the folder instead.
    """

    path: str
    whole: str | None = None
    edits: tuple[tuple[str, str], ...] = ()
    code: str = ""

    def apply(self, folder: Path) -> None:
        """Make the change. Raises TaskError."""
        if self.code:
            subprocess.run([sys.executable, "-c", self.code], cwd=folder, check=True)
            return
        place = folder / self.path
        if self.whole is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(self.whole, encoding="utf-8", newline="")
        elif self.edits:
            text = place.read_text(encoding="utf-8")
            for old, new in self.edits:
                if text.count(old) != 1:
                    raise TaskError(f"{self.path}: in it {text.count(old)} times: {old!r}")
                text = text.replace(old, new)
            place.write_text(text, encoding="utf-8", newline="")
        else:
            place.unlink()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to work on a task: what is answered, what is changed, and which calls are made.

    ``steps`` are lists of calls made at once, each a tool and its arguments; ``solution``
    stands for the changes, ``say`` for words. None: the files are read, changed and tested.
    ``rule`` is the one of the Coder's prompt that it breaks, a letter (C-23).
    """

    title: str
    answer: str
    changes: tuple[Change, ...]
    steps: tuple[tuple[tuple[str, Any], ...], ...] | None = None
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    ``seconds`` and ``steps`` are its limits, ``window`` the model's in tokens (0: its own),
    ``test`` the folder's own tests, ``deny`` what the person's rules refuse.
    """

    name: str
    title: str
    kind: Kind
    text: str
    files: tuple[Change, ...]
    check: str
    solution: Attempt
    wrong: tuple[Attempt, ...]
    agent: str = "Coder"
    steps: int = 60
    seconds: float = 900.0
    window: int = 0
    test: str = ""
    deny: tuple[str, ...] = ()

    def lay_out(self, folder: Path) -> None:
        """Put the files into an empty folder."""
        for change in self.files:
            change.apply(folder)

    def replies(self, attempt: Attempt) -> list[list[tuple[str, Any]]]:
        """What a model says and calls in an attempt, a list for each of its replies."""
        steps = attempt.steps
        if steps is None:
            known = {one.path for one in self.files}
            reads = [("read", {"path": one.path}) for one in attempt.changes if one.path in known]
            steps = (*((tuple(reads),) if reads else ()), (("solution", {}),))
            if self.test:
                steps += ((("run", {"command": self.test}),),)
        found: list[list[tuple[str, Any]]] = []
        for step in steps:
            if step[0][0] == "solution":
                found += [[call] for call in _change_calls(attempt.changes)]
            else:
                found.append(list(step))
        return found


def _change_calls(changes: tuple[Change, ...]) -> Iterator[tuple[str, Any]]:
    for change in changes:
        if change.code:
            yield "run", {"command": f"python - <<'END'\n{change.code}END"}
        elif change.whole is not None:
            yield "write", {"path": change.path, "content": change.whole}
        elif change.edits:
            edits = [{"old": old, "new": new} for old, new in change.edits]
            yield "edit", {"path": change.path, "edits": edits}
        else:
            yield "delete", {"path": change.path}


def read_tasks(folder: Path = TASKS) -> list[Task]:
    """All tasks, by kind and name. Raises TaskError."""
    tasks = [read_task(path) for path in folder.glob("*.md")]
    return sorted(tasks, key=lambda task: (get_args(Kind).index(task.kind), task.name))


def read_task(path: Path) -> Task:
    """One task. Raises TaskError, which names the file and what is wrong."""
    try:
        return _read(path.stem, path.read_text(encoding="utf-8"))
    except (TaskError, yaml.YAMLError, KeyError, TypeError) as error:
        raise TaskError(f"{path.name}: {error}") from error


def _read(name: str, text: str) -> Task:
    _, front, body = text.split("---\n", 2)
    facts = yaml.safe_load(front)
    if unknown := facts.keys() - _KEYS:
        raise TaskError(f"unknown: {', '.join(sorted(unknown))}")
    if facts["kind"] not in get_args(Kind):
        raise TaskError(f"kind is one of {', '.join(get_args(Kind))}")
    said, sections = _sections(body.splitlines(keepends=True), "## ")
    known = dict(sections)
    wrong: list[Attempt] = []
    for heading, lines in sections:
        if found := _WRONG.fullmatch(heading):
            wrong.append(replace(_attempt(found[2], lines), rule=found[1] or ""))
        elif heading not in ("Files", "Check", "Solution"):
            raise TaskError(f"unknown section: {heading}")
    facts["deny"] = tuple(facts.get("deny", ()))
    return Task(
        name,
        text=_joined(said),
        files=tuple(_changes(known.get("Files", []))),
        check=_fence(known["Check"])[1],
        solution=_attempt("solution", known["Solution"]),
        wrong=tuple(wrong),
        **facts,
    )


def _attempt(title: str, lines: list[str]) -> Attempt:
    said, parts = _sections(lines, "### ")
    steps: Any = None
    for heading, inner in parts:
        if heading == "Steps":
            language, text = _fence(inner)
            if language == "python":
                made: dict[str, Any] = {}
                exec(text, made)
                steps = made["steps"]
            else:
                steps = yaml.safe_load(text)
    changes = tuple(_changes(lines))
    return Attempt(title, _joined(said), changes, None if steps is None else tuple(_steps(steps)))


def _steps(steps: list[Any]) -> Iterator[tuple[tuple[str, Any], ...]]:
    """``solution``, ``{say: words}``, ``{tool: arguments}``, or a list of what is done at once."""
    for step in steps:
        calls = step if isinstance(step, list) else [step]
        yield tuple(
            (call, {}) if isinstance(call, str) else next(iter(call.items())) for call in calls
        )


def _changes(lines: list[str]) -> Iterator[Change]:
    _, parts = _sections(lines, "### ")
    for heading, inner in parts:
        if heading == "Steps":
            continue
        place = _PLACE.search(heading)
        path = place[1] if place else ""
        if heading == "Python":
            yield Change("", code=_fence(inner)[1])
        elif not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise TaskError(f"a heading is a path in backticks, Steps or Python, not {heading!r}")
        elif heading.endswith("deleted"):
            yield Change(path)
        else:
            language, text = _fence(inner)
            edits = tuple(_edits(text)) if language == "edit" else ()
            yield Change(path, None if edits else text, edits)


def _edits(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of old and new lines, between marks as a merge leaves them."""
    for block in text.split("<<<<<<<\n")[1:]:
        old, _, rest = block.partition("=======\n")
        new, mark, _ = rest.partition(">>>>>>>\n")
        if not mark:
            raise TaskError(f"an edit without its end: {block!r}")
        yield old, new


def _sections(lines: list[str], mark: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """What comes before the first heading, and the headings with their lines.

    Lines inside fences are no headings.
    """
    first: list[str] = []
    found: list[tuple[str, list[str]]] = []
    current, fence = first, ""
    for line in lines:
        if mark_of := _FENCE.match(line):
            if not fence:
                fence = mark_of[1]
            elif mark_of[1] == fence:
                fence = ""
        if not fence and line.startswith(mark):
            current = []
            found.append((line.removeprefix(mark).strip(), current))
        else:
            current.append(line)
    if fence:
        raise TaskError("a fence has no end")
    return first, found


def _fence(lines: list[str]) -> tuple[str, str]:
    """The language and the text of the first fence."""
    fence, language, text = "", "", list[str]()
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence, language = mark[1], mark[2]
        elif mark and mark[1] == fence:
            return language, "".join(text)
        elif fence:
            text.append(line)
    raise TaskError("a section has no fence")


def _joined(lines: list[str]) -> str:
    return "".join(lines).strip()


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder with its links as links; ``target`` does not exist yet."""
    shutil.copytree(source, target, symlinks=True)
