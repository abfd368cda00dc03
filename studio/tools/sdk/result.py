"""Tool results: renders what a tool returns as the text that a model gets (L-4)."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from enum import Enum
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, cast

from studio.domain.jsonvalue import repair_surrogates
from studio.domain.messages import Image
from studio.domain.records import dataclass

NO_OUTPUT = "(no output)"
ITEMS = 100_000
"""Items of an iterable that are shown; it may be endless."""
_SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool returns.

    ``value`` is anything; ``text`` is what the model gets of it. ``summary``
    is a few words for the person ("88 lines"). ``sources`` say where the value is
    from: ``src/a.py:1-80``, a URL, a query (T-4). ``is_error`` marks a failure, a command
    that ended with exit 1 for example.
    """

    value: object
    summary: str = ""
    sources: tuple[str, ...] = ()
    is_error: bool = False
    images: tuple[Image, ...] = ()
    untrusted: bool = False
    """Whether the value holds text of strangers, whatever ``ToolSpec.untrusted`` says."""
    keeps_end: bool = False
    """Whether the end of a text that is too long says more than its beginning."""
    fits: bool = False
    """Whether its tool kept to ``Context.room``, so that nothing is cut."""
    code: int | None = None
    """The exit code of a command that ended by itself."""
    table: tuple[tuple[str, ...], ...] = ()
    """The same as rows that the person is shown, the names of the columns first (M-11)."""

    @property
    def text(self) -> str:
        return render(self.value)

    @classmethod
    def of(cls, value: object) -> Result:
        """A result as it is, anything else as the value of one."""
        return value if isinstance(value, Result) else cls(value)


def render(value: object) -> str:
    """The text a model gets of anything a tool may return; never raises.

    Text stays, a list of scalars is one line each, an object is indented JSON,
    and a value that cannot be shown (a cycle, for example) becomes a short description.
    """
    try:
        return repair_surrogates(_render(value))  # file names may have lone ones
    except RecursionError:
        return f"(a {_kind(value)} that is nested too deeply or contains itself)"
    except ValueError as error:
        if "Circular reference" in str(error):
            return f"(a {_kind(value)} that contains itself)"
        return f"(a {_kind(value)} that cannot be shown: ValueError)"
    except Exception as error:  # a value's own __str__ or __iter__ may do anything
        return f"(a {_kind(value)} that cannot be shown: {type(error).__name__})"


def _render(value: object) -> str:
    if value is None:
        return NO_OUTPUT
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Result):
        return _render(value.value)
    if isinstance(value, bytes | bytearray):
        return _bytes(bytes(value))
    if isinstance(value, Enum):
        return _render(value.value)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if _is_record(value) or isinstance(value, Mapping):
        return _json(cast("object", value))
    if isinstance(value, Iterable):
        items = list(islice(cast("Iterable[object]", value), ITEMS))
        if all(isinstance(item, (*_SCALARS, PurePath)) for item in items):
            return "\n".join("null" if i is None else _line(i) for i in items) or NO_OUTPUT
        return _json(items)
    return str(value)


def _line(item: object) -> str:
    return json.dumps(item) if isinstance(item, bool) else str(item)


def _is_record(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _json(value: object) -> str:
    return json.dumps(_plain(value, ()), indent=2, ensure_ascii=False)


def _plain(value: object, above: tuple[int, ...]) -> Any:
    """The value as plain JSON types; ``above`` are the ids of the objects that enclose it."""
    if isinstance(value, Enum):
        return _plain(value.value, above)
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, bytes | bytearray):
        return _bytes(bytes(value))
    if id(value) in above:
        raise ValueError("Circular reference")
    inside = (*above, id(value))
    if _is_record(value):
        fields = dataclasses.fields(cast("Any", value))
        return {field.name: _plain(getattr(value, field.name), inside) for field in fields}
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {_key(key): _plain(item, inside) for key, item in pairs}
    if isinstance(value, list | tuple | Set):
        return [_plain(item, inside) for item in cast("Iterable[object]", value)]
    return str(value)


def plain(value: object) -> Any:
    """A value as plain JSON types; one that contains itself raises ValueError."""
    if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
        return _plain(cast("object", value), ())
    return _plain(list(islice(cast("Iterable[object]", value), ITEMS)), ())


def _key(key: object) -> str:
    return key if isinstance(key, str) else _line(key)


def _bytes(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"(binary data, {size(len(data))})"
    return text if "\0" not in text else f"(binary data, {size(len(data))})"


def _kind(value: object) -> str:
    return type(value).__name__


def size(count: int) -> str:
    """A number of bytes for people: ``1.2 MB``."""
    if count < 1000:
        return f"{count} bytes" if count != 1 else "1 byte"
    amount, unit = count / 1000, "kB"
    for bigger in ("MB", "GB"):
        if amount >= 999.5:
            amount, unit = amount / 1000, bigger
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"


def plural(count: int, one: str, many: str = "") -> str:
    """``1 match``, ``1,204 matches``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def shorten(text: str, limit: int, spill: Path | None = None, *, keeps_end: bool = False) -> str:
    """Cut a text that is longer than ``limit`` characters in the middle (L-4).

    Two thirds of what stays are its beginning or, with ``keeps_end``, its end (C-16).
    A note in its place says how much was left out and, with a folder
    ``spill``, in which file of it the whole text is. Writes that file: call it in a thread
    then. After a disk error the note names no file.
    """
    if len(text) <= limit:
        return text
    kept = ""
    if spill is not None:
        path = spill / f"{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}.txt"
        with suppress(OSError):
            spill.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="replace", newline="")
            kept = f" The whole text is in {path}"
    first = limit // 3 if keeps_end else limit * 2 // 3
    head = _at_line_end(text, first)
    tail = _at_line_start(text, len(text) - (limit - first))
    left_out = tail - head
    note = f"[… {left_out:,} of {len(text):,} characters are left out here.{kept} …]"
    return f"{text[:head].rstrip()}\n\n{note}\n\n{text[tail:].lstrip()}"


def _at_line_end(text: str, index: int) -> int:
    """The end of the last line before ``index`` if that is near, else ``index``."""
    found = text.rfind("\n", max(0, index - index // 5), index)
    return index if found < 0 else found + 1


def _at_line_start(text: str, index: int) -> int:
    rest = len(text) - index
    found = text.find("\n", index, index + rest // 5)
    return index if found < 0 else found + 1
