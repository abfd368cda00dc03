"""Workflow editing: changes steps in the text of a file, and none of its other words (W-11, W-61).

Each change is read back before it is handed out; one that would come out wrong is refused, and
left to the person at the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, get_args

from studio.agent.agent_files.edit import (
    Edit,
    Scalar,
    after_line,
    item_added,
    item_removed,
    key_added,
    key_removed,
    line_end,
    line_start,
    lines_removed,
    quoted,
    scalar,
    value_replaced,
)
from studio.agent.frontmatter import Entry, Frontmatter
from studio.domain.errors import ConfigurationError
from studio.domain.workflows import Step, StepKind

from .reader import WorkflowText, read_workflow_text, section_for
from .value_readers import Places

_TEMPLATE = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_EXPRESSIONS = ("if", "for_each", "check")
Path: TypeAlias = tuple[str] | tuple[str, str]
"""``("agent",)`` or ``("redo", "max")``."""
Value: TypeAlias = Scalar | Mapping[str, Scalar] | None
_TIME = re.compile(r"\d+(\.\d+)?[smhd]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")


def add_step(text: str, id: str, lines: Sequence[str], after: str = "") -> str:
    """A text with one more step, behind the step ``after`` and in need of it, or at the end.

    ``lines`` are the keys of the step besides ``id`` and ``needs``. Raises ConfigurationError.
    """
    found, matter = _read(text)
    _free(found, id)
    ids = _ids(found)
    at = ids.index(after) if after in ids else len(ids) - 1
    if not ids:
        raise _by_hand("steps")
    start, end = found.places[at].span
    dash = _dash(matter, start)
    indent = text[line_start(matter, dash) : dash]
    keys = [f"id: {id}", *([f"needs: {after}"] if after in ids else []), *lines]
    words = f"{line_end(matter)}{indent}  ".join(keys)
    place = after_line(matter, end)
    made = Edit(place, place, f"{indent}- {words}{line_end(matter)}").apply(text)
    return _checked(
        made, "steps", lambda now: [*now[: at + 1], *now[at + 2 :]] == _steps(found), id
    )


def connect(text: str, first: str, second: str) -> str:
    """A text in which the step ``second`` needs ``first``. Raises ConfigurationError."""
    found, matter = _read(text)
    places = _places(found, second)
    if first == second or first not in _ids(found):
        raise ConfigurationError("A step can only need another one.")
    entry = places.keys.get("needs")
    if entry is None:
        edit = _key_added(matter, places, f"needs: {first}")
    elif entry.node.id == "scalar" and entry.node.value:
        edit = value_replaced(matter, entry, f"[{entry.node.value}, {first}]")
    elif entry.node.id == "scalar":
        edit = value_replaced(matter, entry, first)
    else:
        edit = item_added(matter, entry, first)
    return _needs_changed(found, text, edit, second, lambda needs: (*needs, first))


def disconnect(text: str, first: str, second: str) -> str:
    """A text in which the step ``second`` does not name ``first`` among its needs any more.

    Raises ConfigurationError, also where it needs it by an expression.
    """
    found, matter = _read(text)
    entry = _places(found, second).keys.get("needs")
    if entry is None or first not in _step(found, second).needs:
        raise ConfigurationError(f"{second} needs {first} by what it says. Change its words.")
    if _step(found, second).needs == (first,):
        edit = key_removed(matter, _node(matter, _places(found, second)), entry)
    else:
        edit = item_removed(matter, entry, first)
    return _needs_changed(
        found, text, edit, second, lambda needs: tuple(one for one in needs if one != first)
    )


def rename(text: str, old: str, new: str) -> str:
    """A text in which a step has another id everywhere: needs, ways back, expressions, heading.

    Raises ConfigurationError for a name that is none, or is taken.
    """
    found, matter = _read(text)
    _free(found, new)
    edits: dict[int, Edit] = {}

    def put(start: int, end: int, words: str) -> None:
        edits[start] = Edit(start, end, words)

    def in_expressions(start: int, end: int) -> None:
        for hit in re.finditer(rf"\bsteps\s*\.\s*({old})\b", text[start:end]):
            put(start + hit.start(1), start + hit.end(1), new)

    def names(node_span: tuple[int, int]) -> None:
        start, end = node_span
        for hit in re.finditer(rf"(?<![\w.]){old}(?!\w)", text[start:end]):
            put(start + hit.start(), start + hit.end(), new)

    for step, places in zip(_steps(found), found.places, strict=True):
        if step.id == old:
            names(places.value("id"))
        for key in ("needs", "on_error"):
            if key in places.keys and old in (*step.needs, step.on_error):
                names(places.value(key))
        if step.redo is not None and "redo" in places.keys:
            for entry in matter.children(places.keys["redo"].node):
                span = entry.value_start, entry.value_end
                names(span) if entry.key == "from" else in_expressions(*span)
        for key in _EXPRESSIONS:
            if key in places.keys:
                in_expressions(*places.value(key))
    if "done_when" in found.top.keys:
        in_expressions(*found.top.value("done_when"))
    for template in _TEMPLATE.finditer(text):
        in_expressions(*template.span())
    section = section_for(old, "", found.sections)
    if section is not None:
        heading = text[section.start : section.end]
        at = section.start + heading.casefold().index(old.casefold())
        put(at, at + len(old), new)
    made = text
    for start in sorted(edits, reverse=True):
        made = edits[start].apply(made)
    wanted = [new if id == old else id for id in _ids(found)]
    whole = len(found.errors)
    return _checked(
        made,
        "id",
        lambda now: [step.id for step in now] == wanted,
        new,
        lambda after: len(after.errors) <= whole,
    )


def remove_step(text: str, id: str) -> str:
    """A text without a step, which no other step names among its needs any more.

    Raises ConfigurationError.
    """
    found, _ = _read(text)
    if len(_ids(found)) < 2:
        raise ConfigurationError("A workflow has at least one step.")
    for step in _steps(found):
        if id in step.needs:
            text = disconnect(text, id, step.id)
    found, matter = _read(text)
    start, end = _places(found, id).span
    edit = lines_removed(matter, _dash(matter, start), end)
    left = [step for step in _steps(found) if step.id != id]
    return _checked(edit.apply(text), "steps", lambda now: now == left, "")


def set_step(text: str, id: str, path: Path, value: Value) -> str:
    """A text in which a step has a value: of a key, or of a key in the mapping of another one.

    None takes the key out, with a mapping that is empty then. Raises ConfigurationError.
    """
    found, matter = _read(text)
    places = _places(found, id)
    at, raw = _ids(found).index(id), _raw(matter)
    step = raw[at]
    if len(path) == 1:
        _put(step, path[0], value)
    else:
        inner = dict(step.get(path[0]) or {})
        _put(inner, path[1], value)
        _put(step, path[0], inner or None)
        if value is None and not inner:
            path = path[:1]
    edit = _value_edit(matter, places, path, value)
    if edit is None:
        raise _by_hand(path[-1])
    made = edit.apply(text)
    after = read_workflow_text(made)
    if after.frontmatter is None or _raw(after.frontmatter) != raw:
        raise _by_hand(path[-1])
    return made


def _value_edit(matter: Frontmatter, places: Places, path: Path, value: Value) -> Edit | None:
    """The words to change; None where that is left to the person."""
    mapping, entry = _node(matter, places), places.keys.get(path[0])
    if len(path) == 2:
        if entry is None or entry.node.id != "mapping":
            empty = entry is None or entry.value_start == entry.value_end
            if not empty or value is None or isinstance(value, Mapping):
                return None
            return _value_edit(matter, places, path[:1], {path[1]: value})
        mapping = entry.node
        entry = next((one for one in matter.children(mapping) if one.key == path[1]), None)
    if value is None:
        return key_removed(matter, mapping, entry) if entry is not None else Edit(0, 0, "")
    if entry is None:
        words = f"{path[-1]}: {_words(value)}"
        if len(path) == 2:
            return key_added(matter, mapping, words)
        return _key_added(matter, places, words, _behind(places))
    if entry.node.id != "scalar" and not isinstance(value, Mapping):
        return None
    words = _words(value)
    if isinstance(value, str):
        words = quoted(value, matter.text[entry.value_start : entry.value_end])
    return value_replaced(matter, entry, words)


def _behind(places: Places) -> Entry:
    """The key behind which a new one goes: the last of who it is, what it needs and does."""
    first = ("id", "title", "needs", *get_args(StepKind), "model")
    there = [places.keys[key] for key in first if key in places.keys]
    plain = [one for one in there if one.node.id == "scalar" and one.node.style not in ("|", ">")]
    return max(plain, key=lambda one: one.start)


def _words(value: Scalar | Mapping[str, Scalar]) -> str:
    if isinstance(value, str) and _TIME.fullmatch(value):
        return value  # “5m” is a text in YAML as it stands
    if not isinstance(value, Mapping):
        return scalar(value)
    return f"{{{', '.join(f'{key}: {scalar(one)}' for key, one in value.items())}}}"


def _put(values: dict[str, Any], key: str, value: Value) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = dict(value) if isinstance(value, Mapping) else value


def _raw(matter: Frontmatter) -> list[dict[str, Any]]:
    """The steps as YAML has them."""
    entry = matter.entry("steps")
    try:
        return [dict(one) for one in entry.value()] if entry is not None else []
    except (ValueError, TypeError) as error:
        raise _by_hand("steps") from error


def free_id(text: str, wanted: str) -> str:
    """A name that no step has: ``wanted``, or that with a number."""
    taken = set(_ids(read_workflow_text(text)))
    names = (wanted if count == 1 else f"{wanted}{count}" for count in range(1, 10_000))
    return next(name for name in names if name not in taken)


def _read(text: str) -> tuple[WorkflowText, Frontmatter]:
    found = read_workflow_text(text)
    if found.frontmatter is None or found.workflow is None:
        raise ConfigurationError("First mend the text: it cannot be read.")
    return found, found.frontmatter


def _steps(found: WorkflowText) -> list[Step]:
    return list(found.workflow.steps) if found.workflow is not None else []


def _ids(found: WorkflowText) -> list[str]:
    return [step.id for step in _steps(found)]


def _step(found: WorkflowText, id: str) -> Step:
    return next(step for step in _steps(found) if step.id == id)


def _places(found: WorkflowText, id: str) -> Places:
    for step, places in zip(_steps(found), found.places, strict=True):
        if step.id == id:
            return places
    raise ConfigurationError(f"There is no step {id}.")


def _free(found: WorkflowText, id: str) -> None:
    if not _NAME.fullmatch(id):
        raise ConfigurationError(
            "A step’s name has letters, digits and _, and begins with a letter."
        )
    if id in _ids(found):
        raise ConfigurationError(f"There is a step {id} already.")


def _node(matter: Frontmatter, places: Places) -> Any:
    """The node of a step's mapping."""
    entry = matter.entry("steps")
    for node in entry.node.value if entry is not None else ():
        if matter.span(node)[0] == places.span[0]:
            return node
    raise _by_hand("steps")


def _key_added(
    matter: Frontmatter, places: Places, words: str, behind: Entry | None = None
) -> Edit | None:
    """A key behind another one, usually that of the step's id."""
    node, key = _node(matter, places), places.keys["id"]
    if node.flow_style:
        return key_added(matter, node, words)
    place = after_line(matter, (behind or key).value_end)
    indent = " " * (key.start - line_start(matter, key.start))
    return Edit(place, place, f"{indent}{words}{line_end(matter)}")


def _dash(matter: Frontmatter, start: int) -> int:
    """The dash before a step; raises ConfigurationError where steps stand in brackets."""
    line = line_start(matter, start)
    before = matter.text[line:start]
    if not re.fullmatch(r" *- +", before):
        raise _by_hand("steps")
    return line + before.index("-")


def _needs_changed(
    found: WorkflowText,
    text: str,
    edit: Edit | None,
    id: str,
    change: Callable[[tuple[str, ...]], tuple[str, ...]],
) -> str:
    if edit is None:
        raise _by_hand("needs")
    wanted = [
        replace(step, needs=change(step.needs)) if step.id == id else step for step in _steps(found)
    ]
    return _checked(edit.apply(text), "needs", lambda now: now == wanted, "")


def _checked(
    made: str,
    key: str,
    right: Callable[[list[Step]], bool],
    there: str,
    also: Callable[[WorkflowText], bool] = lambda found: True,
) -> str:
    """The text, if it says what was wanted; ``there`` is a step that it has then."""
    after = read_workflow_text(made)
    steps: Iterable[Step] = after.workflow.steps if after.workflow is not None else ()
    known = {step.id for step in steps}
    if not right(list(steps)) or (there and there not in known) or not also(after):
        raise _by_hand(key)
    return made


def _by_hand(key: str) -> ConfigurationError:
    return ConfigurationError(f"Change “{key}” in the text: it is written in a way of its own.")
