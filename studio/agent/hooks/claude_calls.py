"""Claude calls: our calls in the words of Claude Code, so that existing hooks know them (K-8).

A hook that looks at files before they change is asked under the name that it looks for, also where
our tool is another: a patch is an edit of each of its files, to delete or move is to write, and
what is typed into a command that runs is a command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field

from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.records import dataclass
from studio.domain.tools import (
    APPLY_PATCH,
    DELEGATE,
    EDIT,
    JOB,
    RUN,
    SKILL,
    TEXT_INPUT,
    ToolSpec,
)
from studio.tools import Workspace
from studio.tools.workspace.patch import parse_patch

NAMES: Mapping[str, tuple[str, ...]] = {
    "read": ("Read",),
    "write": ("Write",),
    EDIT: ("Edit", "MultiEdit"),
    APPLY_PATCH: ("Edit", "MultiEdit"),
    "delete": ("Delete",),
    "move": ("Move",),
    "list": ("LS",),
    "glob": ("Glob",),
    "search": ("Grep",),
    RUN: ("Bash",),
    JOB: ("BashOutput",),
    "plan": ("TodoWrite",),
    "ask": ("AskUserQuestion",),
    "fetch": ("WebFetch",),
    "web_search": ("WebSearch",),
    DELEGATE: ("Task", "Agent"),
    SKILL: ("Skill",),
}
"""What Claude Code calls our tools; hooks are told the first name, and match by any, or by ours."""

_FIELDS: Mapping[str, Mapping[str, str]] = {
    "read": {"path": "file_path", "first_line": "offset", "lines": "limit"},
    "write": {"path": "file_path"},
    EDIT: {"path": "file_path", "old": "old_string", "new": "new_string"},
    "delete": {"path": "file_path"},
    "move": {"path": "file_path", "to": "destination"},
    "search": {"ignore_case": "-i", "context": "-C"},
    RUN: {"background": "run_in_background", "reason": "description", "folder": "workdir"},
    JOB: {"id": "bash_id"},
    "plan": {"items": "todos"},
    DELEGATE: {"agent": "subagent_type", "task": "prompt"},
    SKILL: {"name": "skill"},
}
"""Our parameters that Claude Code calls otherwise."""
_PATHS = ("file_path", "path", "destination")
_SHOWN = {"lines": "content", "files": "files_with_matches", "counts": "count"}


@dataclass(frozen=True, slots=True)
class View:
    """A call as a hook is told of it. ``names`` are what matchers may say.

    ``own``: it is the call itself, so that the hook may change its input, and is told of its
    result. Else it is one thing that the call does.
    """

    name: str
    input: JsonObject
    names: frozenset[str] = field(default_factory=frozenset[str])
    own: bool = True


def views_of(spec: ToolSpec, arguments: JsonObject, workspace: Workspace) -> list[View]:
    """A call as hooks are asked about it, the call itself first."""
    if spec.server:
        name = f"mcp__{spec.name}"
        return [View(name, arguments, frozenset((name, spec.name)))]
    if spec.name == APPLY_PATCH:
        return _of_patch(arguments, workspace)
    known = NAMES.get(spec.name, (spec.name,))
    given = _in_their_words(spec.name, arguments, workspace)
    views = [View(known[0], given, frozenset((*known, spec.name)))]
    if spec.name in ("delete", "move"):
        paths = [given.get("file_path"), given.get("destination")]
        views += [_writing(path) for path in paths if isinstance(path, str)]
    if spec.name == JOB and isinstance(typed := arguments.get("input"), str) and typed:
        views.append(View("Bash", {"command": typed}, frozenset(("Bash", RUN)), own=False))
    return views


def in_our_words(spec: ToolSpec, given: JsonObject, workspace: Workspace) -> JsonObject:
    """The arguments that a hook wants, under our names; the tool checks them."""
    if spec.server:
        return given
    ours = {theirs: name for name, theirs in _FIELDS.get(spec.name, {}).items()}
    found: JsonObject = {}
    for theirs, value in given.items():
        name = ours.get(theirs, theirs)
        if theirs in _PATHS and isinstance(value, str):
            value = _short(value, workspace)
        elif spec.name == RUN and theirs == "timeout" and isinstance(value, int | float):
            name, value = "time_limit", value / 1000
        elif spec.name == "search" and theirs == "output_mode":
            back: dict[str, Json] = {word: shown for shown, word in _SHOWN.items()}
            name, value = "show", back.get(str(value), value)
        elif spec.name == EDIT and theirs == "edits" and isinstance(value, list):
            value = [_edit(one, back=True) for one in value]
        found[name] = value
    return found


def _writing(path: str) -> View:
    names = frozenset(("Write", "Edit", "MultiEdit", "write", EDIT))
    return View("Write", {"file_path": path, "content": ""}, names, own=False)


def _of_patch(arguments: JsonObject, workspace: Workspace) -> list[View]:
    patch = arguments.get(TEXT_INPUT)
    try:
        changes = parse_patch(patch if isinstance(patch, str) else "")
    except ToolFailed:  # the tool says what is wrong
        changes = []
    views: list[View] = []
    for change in changes:
        paths = [change.path, *([change.to] if change.to else [])]
        for path in paths:
            given: JsonObject = {"file_path": _whole(path, workspace), "patch": str(patch)}
            names = frozenset(("Edit", "MultiEdit", "Write", EDIT, "write", APPLY_PATCH))
            views.append(View("Edit", given, names, own=False))
    return views


def _in_their_words(tool: str, arguments: JsonObject, workspace: Workspace) -> JsonObject:
    renamed = _FIELDS.get(tool, {})
    given: JsonObject = {}
    for name, value in arguments.items():
        change = _CHANGES.get((tool, name))
        theirs = renamed.get(name, name)
        if change is not None:
            theirs, value = change(value)
        elif theirs in _PATHS and isinstance(value, str):
            value = _whole(value, workspace)
        given[theirs] = value
    if tool == EDIT and isinstance(edits := given.get("edits"), list):
        given["edits"] = [_edit(one) for one in edits]
    return given


def _edit(given: Json, *, back: bool = False) -> Json:
    if not isinstance(given, dict):
        return given
    names = {"old": "old_string", "new": "new_string", "all": "replace_all"}
    names = {theirs: ours for ours, theirs in names.items()} if back else names
    return {names.get(name, name): value for name, value in given.items()}


def _timeout(value: Json) -> tuple[str, Json]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "timeout", round(value * 1000) if number else value  # type: ignore[operator]


_CHANGES: Mapping[tuple[str, str], Callable[[Json], tuple[str, Json]]] = {
    (RUN, "time_limit"): _timeout,
    ("search", "show"): lambda value: ("output_mode", _SHOWN.get(str(value), value)),
}


def _whole(path: str, workspace: Workspace) -> str:
    """The whole path in the chat's folder, also where the session works on a copy of it."""
    try:
        return os.path.normpath(workspace.in_folder(workspace.joined(path)))
    except (ToolFailed, OSError, ValueError):  # the tool says what is wrong
        return path


def _short(path: str, workspace: Workspace) -> str:
    folder = str(workspace.origin)
    return os.path.relpath(path, folder) if path.startswith(f"{folder}{os.sep}") else path
