"""Agent edit: changes one value in the text of an agent file, and none of its other words.

Comments, order, quotes and line ends of all else stay. Each change is read back before it is
handed out; what would come out wrong is refused, and left to the person at the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from studio.agent.frontmatter import BREAK, Entry, Frontmatter, ProblemFound, read_frontmatter
from studio.agent.yaml_text import construct_yaml, load_yaml
from studio.domain.errors import ConfigurationError

Scalar: TypeAlias = str | int | float
Keys: TypeAlias = tuple[str] | tuple[str, str]
"""``("tools",)`` or ``("permissions", "deny")``: the keys that lead to a list."""

ORDER = (
    "name",
    "description",
    "provider",
    "model",
    "effort",
    "temperature",
    "fallback",
    "tools",
    "role",
    "permissions",
    "ask",
    "agents",
    "children",
    "depth",
    "background",
    "mode",
    "steps",
    "seconds",
    "parallel_tools",
    "tokens",
    "dollars",
    "mask",
    "memory",
    "desk",
    "user-invocable",
    "disable-model-invocation",
    "argument-hint",
    "mission",
    "done_when",
    "budget",
    "icon",
    "hue",
)
"""Where a new key goes: after the ones that are before it here."""
_PLAIN = re.compile(r"[^\W\d][\w ./()+-]*")
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACE = re.compile(r"[ \t]*")
_LINE_REST = re.compile(r"[^\n\r\x85\u2028\u2029]*")


@dataclass(frozen=True, slots=True)
class Edit:
    """Write ``text`` in place of the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.text + text[self.end :]


def set_value(text: str, key: str, value: Scalar | list[str] | None) -> Edit:
    """Give a key a value, or take the key out for None.

    Raises ConfigurationError where that is not possible without touching other words.
    """

    def change(values: dict[str, Any]) -> None:
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value

    def edit(matter: Frontmatter) -> Edit | None:
        entry = matter.entry(key)
        if value is None:
            return key_removed(matter, matter.root, entry) if entry else Edit(0, 0, "")
        if entry is None:
            return _added(matter, key, _written(value))
        if entry.node.id != "scalar" and not isinstance(value, list):
            return None
        return value_replaced(matter, entry, _written(value))

    return _checked(text, edit, change, key)


def add_item(text: str, path: Keys, item: str) -> Edit:
    """Add a text to the end of a list, which is made if it is not there.

    Raises ConfigurationError as ``set_value`` does.
    """

    def change(values: dict[str, Any]) -> None:
        for key in path[:-1]:
            values[key] = dict(values.get(key) or {})
            values = values[key]
        values[path[-1]] = [*_list(values.get(path[-1])), item]

    def edit(matter: Frontmatter) -> Edit | None:
        entry = matter.entry(path[0])
        if entry is None:
            words = _written([item])
            if len(path) > 1:
                words = f"{{{path[1]}: {words}}}"
            return _added(matter, path[0], words)
        if len(path) > 1:
            if entry.node.id != "mapping":
                empty = entry.value_start == entry.value_end
                words = f"{{{path[1]}: {_written([item])}}}"
                return value_replaced(matter, entry, words) if empty else None
            inner = next((e for e in matter.children(entry.node) if e.key == path[1]), None)
            if inner is None:
                return key_added(matter, entry.node, f"{path[1]}: {_written([item])}")
            entry = inner
        return item_added(matter, entry, item)

    return _checked(text, edit, change, path[-1])


def remove_item(text: str, path: Keys, item: str) -> Edit:
    """Take a text out of a list; the list stays, if only empty.

    Raises ConfigurationError as ``set_value`` does.
    """

    def change(values: dict[str, Any]) -> None:
        for key in path[:-1]:
            values[key] = dict(values[key])
            values = values[key]
        values[path[-1]] = [one for one in _list(values[path[-1]]) if one != item]

    def edit(matter: Frontmatter) -> Edit | None:
        entry = matter.entry(path[0])
        if entry is not None and len(path) > 1 and entry.node.id == "mapping":
            entry = next((e for e in matter.children(entry.node) if e.key == path[1]), None)
        return item_removed(matter, entry, item) if entry is not None else None

    return _checked(text, edit, change, path[-1])


def _checked(
    text: str,
    edit: Callable[[Frontmatter], Edit | None],
    change: Callable[[dict[str, Any]], None],
    key: str,
) -> Edit:
    """The edit, if the text then says what was wanted and nothing else."""
    by_hand = ConfigurationError(f"Change “{key}” in the text: it is written in a way of its own.")
    try:
        matter = read_frontmatter(text)
    except ProblemFound as error:
        raise ConfigurationError(f"First mend the text, {error.problem}.") from error
    try:
        wanted = _values(matter)
        change(wanted)
        made = edit(matter)
        if made is None:
            raise by_hand
        after = read_frontmatter(made.apply(text))
        if _as_lists(_values(after)) != _as_lists(wanted):
            raise by_hand
        if after.text[after.body :] != text[matter.body :]:
            raise by_hand
        return made
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise by_hand from error


def _values(matter: Frontmatter) -> dict[str, Any]:
    return {} if matter.root is None else cast("dict[str, Any]", construct_yaml(matter.root))


def _as_lists(values: dict[str, Any]) -> dict[str, Any]:
    """Names with commas between them count as a list: an item may be added to either."""
    names = {key: _list(values[key]) for key in ("tools", "mask") if key in values}
    return {**values, **names}


def _list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [one.strip() for one in value.split(",") if one.strip()]
    return list(value or [])


# What is written


def _written(value: Scalar | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(scalar, value))}]"
    return scalar(value)


def scalar(value: Scalar) -> str:
    if not isinstance(value, str):
        whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
        return str(int(value)) if whole else repr(value)
    if _PLAIN.fullmatch(value) and value == value.strip():
        try:
            if load_yaml(value) == value:
                return value
        except ValueError:
            pass
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda one: f"\\U{ord(one[0]):08x}", quoted)


def quoted(value: str, written: str) -> str:
    """A text as it may be written in place of ``written``: in its quotes, if it has any."""
    if written[:1] in ("'", '"') and value.isprintable():
        mark = written[0]
        return mark + value.replace("'", "''") + mark if mark == "'" else json.dumps(value)
    return scalar(value) if scalar(written) == written else value


# Keys


def value_replaced(matter: Frontmatter, entry: Entry, words: str) -> Edit:
    if entry.value_start == entry.value_end:  # nothing, perhaps with a comment after it
        return Edit(entry.value_start, entry.value_end, f" {words}")
    return Edit(entry.value_start, entry.value_end, words)


def _added(matter: Frontmatter, key: str, words: str) -> Edit | None:
    """A key of its own line, behind those that are before it in ``ORDER``."""
    if matter.root is None:
        return Edit(matter.end, matter.end, f"{key}: {words}{line_end(matter)}")
    earlier = ORDER[: ORDER.index(key)] if key in ORDER else ORDER
    before = [one for one in matter.entries if one.key in earlier]
    return key_added(matter, matter.root, f"{key}: {words}", before[-1] if before else None)


def key_added(
    matter: Frontmatter, mapping: Any, words: str, after: Entry | None = None
) -> Edit | None:
    entries = list(matter.children(mapping))
    if mapping.flow_style:
        if not entries:
            start = matter.span(mapping)[0] + 1
            return Edit(start, start, words)
        return Edit(entries[-1].value_end, entries[-1].value_end, f", {words}")
    indent = matter.text[line_start(matter, entries[0].start) : entries[0].start]
    if indent.strip(" "):
        return None
    if after is None and mapping is matter.root:
        return Edit(matter.start, matter.start, f"{indent}{words}{line_end(matter)}")
    at = after_line(matter, (after or entries[-1]).value_end)
    return Edit(at, at, f"{indent}{words}{line_end(matter)}")


def key_removed(matter: Frontmatter, mapping: Any, entry: Entry) -> Edit:
    entries = list(matter.children(mapping))
    if mapping.flow_style:
        at = [one.start for one in entries].index(entry.start)
        if at + 1 < len(entries):
            return Edit(entry.start, entries[at + 1].start, "")
        start = entries[at - 1].value_end if at else entry.start
        return Edit(start, entry.value_end, "")
    return lines_removed(matter, entry.start, entry.value_end)


def lines_removed(matter: Frontmatter, start: int, end: int) -> Edit:
    """Take whole lines out; a comment at the end of the last one stays."""
    rest = _LINE_REST.match(matter.text, end)
    assert rest is not None
    if rest[0].strip():
        spaces = _SPACE.match(matter.text, end)
        assert spaces is not None
        return Edit(start, spaces.end(), "")
    return Edit(line_start(matter, start), after_line(matter, end), "")


# Items


def item_added(matter: Frontmatter, entry: Entry, item: str) -> Edit | None:
    node = entry.node
    if node.id == "scalar":
        old = _list(node.value)
        words = ", ".join([*old, item]) if old else _written([item])
        return value_replaced(matter, entry, words)
    if node.id != "sequence":
        return None
    if node.flow_style:
        at = matter.span(node.value[-1])[1] if node.value else entry.value_start + 1
        return Edit(at, at, f", {scalar(item)}" if node.value else scalar(item))
    at = after_line(matter, entry.value_end)
    indent = matter.text[line_start(matter, entry.value_start) : entry.value_start]
    if indent.strip(" "):
        return None
    return Edit(at, at, f"{indent}- {scalar(item)}{line_end(matter)}")


def item_removed(matter: Frontmatter, entry: Entry, item: str) -> Edit | None:
    node = entry.node
    if node.id == "scalar":
        left = [one for one in _list(node.value) if one != item]
        return value_replaced(matter, entry, ", ".join(left) or "[]")
    places = [matter.span(one) for one in node.value if one.value == item]
    if node.id != "sequence" or len(places) != 1:
        return None
    start, end = places[0]
    if node.flow_style:
        return _flow_item_removed(matter, start, end)
    dash = matter.text.rindex("-", 0, start)
    if len(node.value) == 1:
        column = dash - line_start(matter, dash)
        return Edit(dash, end, "[]" if column else " []")
    return lines_removed(matter, dash, end)


def _flow_item_removed(matter: Frontmatter, start: int, end: int) -> Edit:
    """Take an item out with the comma after it, or the one before it if it is the last."""
    text = matter.text
    after = _SPACE.match(text, end)
    assert after is not None
    if text[after.end() : after.end() + 1] == ",":
        spaces = _SPACE.match(text, after.end() + 1)
        assert spaces is not None
        return Edit(start, spaces.end(), "")
    before = text[:start].rstrip(" \t")
    if before.endswith(","):
        return Edit(len(before) - 1, end, "")
    return Edit(start, end, "")


# Lines


def line_start(matter: Frontmatter, at: int) -> int:
    found = matter.start
    for line in BREAK.finditer(matter.text, matter.start, at):
        found = line.end()
    return found


def after_line(matter: Frontmatter, at: int) -> int:
    line = BREAK.search(matter.text, at)
    return line.end() if line else len(matter.text)


def line_end(matter: Frontmatter) -> str:
    first = BREAK.search(matter.text)
    return first[0] if first else "\n"
