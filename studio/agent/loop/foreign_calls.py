"""Foreign calls: understands calls in the words of other programs' tools (C-21).

Models call tools as they were trained to: ``Bash``, ``read_file``, ``old_string``. Where each
argument has a counterpart of the same meaning, and nothing is missing, such a call is one of ours.
Permission, the row and the audit have it in our words; the provider's history keeps it as the
model made it. Nothing here is offered to a model.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from studio.agent.permission.policy import COMMAND, target_of
from studio.agent.prompts import FOREIGN_CALL, UNKNOWN_TOOL
from studio.agent.servers.tool_search import unwrapped
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import ToolCall
from studio.domain.records import dataclass
from studio.domain.tools import APPLY_PATCH, EDIT, JOB, RUN, TEXT_INPUT, USE_TOOL, ToolSpec
from studio.tools import Tool
from studio.tools.workspace.patch import patch_in_command

Change: TypeAlias = Callable[[Json], Json]
"""Turns a value into ours; raises ValueError for one that has no counterpart."""


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Our parameter for a foreign one; without a ``name`` the value asks for nothing."""

    name: str = ""
    change: Change = lambda value: value


def _only(*usual: Json) -> Change:
    """For what can be left out as long as it has its usual value."""

    def change(value: Json) -> Json:
        if not any(type(value) is type(one) and value == one for one in usual):
            raise ValueError
        return value

    return change


def _not(value: Json) -> Json:
    if not isinstance(value, bool):
        raise ValueError
    return not value


def _seconds(milliseconds: Json) -> Json:
    """A limit in milliseconds. Below a second somebody may have meant seconds."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        raise ValueError
    if milliseconds < 1000:
        raise ValueError
    return milliseconds / 1000


def _command(value: Json) -> Json:
    """A command line, also of a list of words as a program gets them."""
    if not isinstance(value, list):
        return value
    if not value or not all(isinstance(word, str) for word in value):
        raise ValueError
    words = cast("list[str]", value)
    return words[2] if words[:2] == ["sh", "-c"] and len(words) == 3 else shlex.join(words)


def _one_of(words: Mapping[str, str]) -> Change:
    def change(value: Json) -> Json:
        if not isinstance(value, str) or value not in words:
            raise ValueError
        return words[value]

    return change


def _list_of(item: Callable[[JsonObject], JsonObject]) -> Change:
    def change(value: Json) -> Json:
        if not isinstance(value, list):
            return value
        items: list[Json] = []
        for one in value:
            if not isinstance(one, dict):
                raise ValueError
            items.append(item(one))
        return items

    return change


_STATES = {
    "pending": "pending",
    "not_started": "pending",
    "not-started": "pending",
    "in_progress": "active",
    "in-progress": "active",
    "completed": "done",
    "cancelled": "dropped",
    "active": "active",
    "done": "done",
    "dropped": "dropped",
}


def _parameters(ours: str, *foreign: str, change: Change | None = None) -> dict[str, Counterpart]:
    same = Counterpart(ours, change) if change else Counterpart(ours)
    return dict.fromkeys(foreign, same)


_WORDS = dict.fromkeys(("explanation", "instruction", "description"), Counterpart())
"""What is said of a call that changes nothing."""
_PATH = _parameters("path", "file_path", "filePath", "absolute_path", "target_file")
_FOLDER = _parameters(
    "path", "dir_path", "directory", "target_directory", "relative_workspace_path"
)
_OLD = _parameters("old", "old_string", "oldString", "old_str", "oldText")
_NEW = _parameters("new", "new_string", "newString", "new_str", "newText")


def _edit_item(given: JsonObject) -> JsonObject:
    known = {**_OLD, **_NEW, **_parameters("all", "replace_all", "replaceAll")}
    return _renamed(given, lambda name: known.get(name), ("old", "new", "all"))


def _plan_item(given: JsonObject) -> JsonObject:
    known = {
        **_parameters("text", "content", "step", "description", "title"),
        **_parameters("status", "status", change=_one_of(_STATES)),
        **dict.fromkeys(("id", "activeForm", "priority"), Counterpart()),
    }
    return _renamed(given, lambda name: known.get(name), ("text",))


BY_COMMAND = ("str_replace_based_edit_tool", "str_replace_editor")
"""One tool for several purposes, which its argument ``command`` tells apart."""
COMMANDS = {"view": "read", "create": "write", "str_replace": EDIT}

TOOLS: dict[str, tuple[str, ...]] = {
    "read": ("Read", "read_file", "view", "view_file", "open_file", "cat", "view_image"),
    "write": ("Write", "write_file", "write_to_file", "create_file"),
    EDIT: (
        *("Edit", "MultiEdit", "edit_file", "str_replace", "search_replace", "replace"),
        *("replace_string_in_file", *BY_COMMAND),
    ),
    APPLY_PATCH: ("patch",),
    "delete": ("delete_file", "delete_path", "remove_file"),
    "move": ("move_file", "move_path", "rename_file"),
    "list": ("ls", "list_dir", "list_directory", "list_files"),
    "glob": ("Glob", "file_search", "glob_file_search", "find_files", "find_path"),
    "search": (
        *("Grep", "ripgrep", "rg", "grep_search", "grep_files", "search_file_content"),
        "search_files",
    ),
    RUN: (
        *("bash", "shell", "shell_command", "run_shell_command", "run_command", "run_terminal_cmd"),
        *("run_in_terminal", "execute_command", "execute_bash", "exec_command", "terminal"),
    ),
    JOB: ("BashOutput", "job_output", "write_stdin"),
    "plan": ("TodoWrite", "todo_write", "write_todos", "update_plan", "manage_todo_list"),
    "ask": ("AskUserQuestion", "ask_user", "ask_followup_question", "request_user_input"),
    "fetch": ("WebFetch", "web_fetch", "fetch_url", "fetch_webpage"),
    "web_search": ("WebSearch", "google_web_search", "search_web"),
}
"""Names that models know, in whatever case they are written, of each of our tools."""

PARAMETERS: dict[str, dict[str, Counterpart]] = {
    "read": {**_WORDS, **_PATH, **_parameters("lines", "limit")},
    "write": {**_WORDS, **_PATH, **_parameters("content", "file_text", "contents")},
    EDIT: {
        **_WORDS,
        **_PATH,
        **_OLD,
        **_NEW,
        **_parameters("replace_all", "replaceAll", "all"),  # as in a pair of ours
        **_parameters("edits", "edits", change=_list_of(_edit_item)),
        "expected_replacements": Counterpart(change=_only(1)),
    },
    APPLY_PATCH: {**_WORDS, **_parameters("input", "patch", "patch_text", "patchText")},
    "delete": {**_WORDS, **_PATH},
    "move": {
        **_WORDS,
        **_parameters("path", "source", "source_path", "old_path"),
        **_parameters("to", "destination", "destination_path", "new_path"),
    },
    "list": {**_WORDS, **_FOLDER, "recursive": Counterpart(change=_only(False))},
    "glob": {**_WORDS, **_FOLDER, **_parameters("pattern", "glob_pattern")},
    "search": {
        **_WORDS,
        **_FOLDER,
        **_parameters("pattern", "query", "regex"),
        **_parameters("glob", "include", "include_pattern", "includePattern", "file_pattern"),
        **_parameters("ignore_case", "-i", "case_insensitive"),
        **_parameters("ignore_case", "case_sensitive", change=_not),
        **_parameters("literal", "literal_text", "fixed_strings"),
        **_parameters("literal", "isRegexp", change=_not),
        **_parameters("context", "-C"),
        **_parameters(
            "show",
            "output_mode",
            change=_one_of({"content": "lines", "files_with_matches": "files", "count": "counts"}),
        ),
        "-n": Counterpart(change=_only(True)),
    },
    RUN: {
        **_parameters("command", "command", "cmd", change=_command),
        **_parameters("folder", "workdir", "working_dir", "working_directory", "cwd", "cd"),
        **_parameters("folder", "dir_path", "directory"),
        **_parameters("background", "run_in_background", "is_background", "isBackground"),
        **_parameters("terminal", "tty"),
        **_parameters("time_limit", "timeout_ms", change=_seconds),
        **_parameters("reason", "description", "explanation", "justification"),
        **dict.fromkeys(
            ("requires_approval", "with_escalated_permissions", "restart"),
            Counterpart(change=_only(False)),
        ),
        "sandbox_permissions": Counterpart(change=_only("use_default")),
    },
    JOB: {**_parameters("id", "bash_id", "shell_id"), **_parameters("input", "chars")},
    "plan": {
        **_parameters("items", "items", "todos", "plan", "todoList", change=_list_of(_plan_item)),
        **_parameters("why", "explanation"),
        "merge": Counterpart(change=_only(False)),
    },
    "ask": {},
    "fetch": {**_WORDS, "format": Counterpart(change=_only("markdown"))},
    "web_search": {**_WORDS, **_parameters("query", "search_term")},
}
"""Names of parameters by our tool, under whichever name it is called."""

OF_ONE_TOOL: dict[tuple[str, str], Counterpart] = {
    # Counted from 1 here. Elsewhere the same name counts from 0.
    ("Read", "offset"): Counterpart("first_line"),
    # Milliseconds in these, seconds in others.
    ("Bash", "timeout"): Counterpart("time_limit", _seconds),
    ("bash", "timeout"): Counterpart("time_limit", _seconds),
    ("shell", "timeout"): Counterpart("time_limit", _seconds),
    ("file_search", "query"): Counterpart("pattern"),
    ("find_path", "glob"): Counterpart("pattern"),
    # One program's looks for names of files, another's for text in them.
    ("search_files", "pattern"): Counterpart(change=_only()),
}
"""Parameters that mean this in one tool alone."""


def _key(name: str) -> str:
    return name.lower().replace("_", "")


_OURS = {_key(name): ours for ours, names in TOOLS.items() for name in (ours, *names)}


class CallInterpreter:
    """Tells which of a turn's tools a call means.

    ``tools`` are all that there are, ``known`` those that are run if they are called. One that
    is there, or was there before in this history, is never taken for another; and only those
    that come with the program are meant by other names.
    """

    def __init__(
        self, tools: Mapping[str, Tool], offered: Sequence[ToolSpec], known: Collection[str]
    ) -> None:
        elsewhere = {spec.name for spec in offered if spec.external or spec.hosted}
        self._tools = tools
        self._offered = sorted(spec.name for spec in offered)
        self._known = frozenset(known)
        self._declared: frozenset[str] = frozenset()
        self._own = {
            name: tools[name].spec
            for name in self._known - elsewhere
            if name in tools and tools[name].built_in
        }

    def understood(self, calls: Sequence[ToolCall], declared: Collection[str]) -> list[ToolCall]:
        """The calls in our words, where they are in others; ``declared``: see ``ToolRunner``."""
        self._declared = frozenset(declared)
        whole = (self._unwrapped(call) for call in calls)
        return [self._patch_in(self._in_our_words(call)) for call in whole]

    def no_such_tool(self, name: str) -> str:
        """What the model is told of a call of a tool that is not there."""
        ours = None if self._is_real(name) else self._own.get(counterpart(name))
        if ours is None:
            return UNKNOWN_TOOL.format(name=name, known=", ".join(self._offered) or "none")
        needed = cast("list[str]", ours.schema.get("required") or [])
        taken = cast("JsonObject", ours.schema["properties"])
        names = ", ".join([*needed, *(f"{one}?" for one in taken if one not in needed)])
        return FOREIGN_CALL.format(name=name, tool=ours.name, parameters=names)

    def _unwrapped(self, call: ToolCall) -> ToolCall:
        """The call of a servers' tool in place of one of the tool that calls such (M-17)."""
        return unwrapped(call) if call.name == USE_TOOL and self._is_real(USE_TOOL) else call

    def _is_real(self, name: str) -> bool:
        return name in self._tools or name in self._known or name in self._declared

    def _in_our_words(self, call: ToolCall) -> ToolCall:
        if self._is_real(call.name) and call.name not in self._own:
            return call
        return in_our_words(call, self._own) or call

    def _patch_in(self, call: ToolCall) -> ToolCall:
        """The call; that of the patch tool in place of a command that means it (C-8)."""
        tool, arguments = self._tools.get(call.name), call.arguments or {}
        if tool is None or tool.spec.target != COMMAND or APPLY_PATCH not in self._known:
            return call
        folder = arguments.get("folder")
        folder = folder if isinstance(folder, str) else ""
        patch = patch_in_command(target_of(tool.spec, arguments), folder)
        return replace(call, name=APPLY_PATCH, arguments={TEXT_INPUT: patch}) if patch else call


def counterpart(name: str) -> str:
    """Our tool for a foreign one; empty if there is none."""
    return _OURS.get(_key(name), "")


def in_our_words(call: ToolCall, tools: Mapping[str, ToolSpec]) -> ToolCall | None:
    """The same call of one of our ``tools``; None if it has no complete counterpart."""
    if call.arguments is None:
        return None
    given = dict(call.arguments)
    ours = call.name if call.name in tools else counterpart(call.name)
    if call.name in BY_COMMAND:
        ours = COMMANDS.get(str(given.pop("command", "")), "")
    spec = tools.get(ours)
    if spec is None:
        return None
    own = cast("dict[str, Json]", spec.schema.get("properties") or {})

    def known(name: str) -> Counterpart | None:
        return OF_ONE_TOOL.get((call.name, name)) or PARAMETERS.get(ours, {}).get(name)

    try:
        if ours == "read":
            given = _with_range(given)
        arguments = _renamed(given, known, tuple(own))
    except ValueError:
        return None
    if not arguments.keys() >= set(cast("list[str]", spec.schema.get("required") or [])):
        return None
    return replace(call, name=ours, arguments=arguments)


def _renamed(
    given: JsonObject, known: Callable[[str], Counterpart | None], own: Sequence[str]
) -> JsonObject:
    """The arguments under our names; ValueError if one has no counterpart, or two have one."""
    found: JsonObject = {}
    for name, value in given.items():
        there = known(name) or (Counterpart(name) if name in own else None)
        if there is None:
            raise ValueError
        changed = there.change(value)
        if there.name in found:
            raise ValueError
        if there.name:
            found[there.name] = changed
    return found


def _with_range(given: JsonObject) -> JsonObject:
    """The arguments of a reading, with a range of lines, from 1 on and with its end, as ours."""
    given = dict(given)
    first, last = given.pop("start_line", None), given.pop("end_line", None)
    match given.pop("view_range", None):
        case None:
            pass
        case [int() as begin, int() as end] if first is None and last is None:
            first, last = begin, None if end == -1 else end
        case _:
            raise ValueError
    found: JsonObject = {}
    if first is not None:
        found["first_line"] = _counted(first)
    if last is not None:
        found["lines"] = _counted(last) - (_counted(first) if first is not None else 1) + 1
    if found.keys() & given.keys():
        raise ValueError
    return given | found


def _counted(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError
    return value
