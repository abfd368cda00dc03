"""Formula marks: where formulas begin and end in the source of a document."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, cast

_MARKS = re.compile(rb"\\\\|\\[()\[\]]")
_CLOSING = {rb"\(": rb"\)", rb"\[": rb"\]"}
_FORMULA_SIGN = re.compile(rb"[\\^_=]")
_INLINE = {"Emphasis", "Strong", "Strikethrough", "Link", "Image"}
_VERBATIM = {"Code", "Html", "InlineHtml", "InlineMath", "DisplayMath"}


def formula_places(
    source: bytes, events: Iterable[tuple[Any, dict[str, int]]]
) -> set[tuple[int, int]]:
    r"""Where ``\(`` or ``\[`` has its other half in the same block, in bytes.

    ``\[1\]`` inside a line is markdown for brackets; a formula begins a line or has a sign of one.
    """
    stops, verbatim = _borders(events)
    found: set[tuple[int, int]] = set()
    begun: re.Match[bytes] | None = None
    for mark in _MARKS.finditer(source):
        near = bisect_right(verbatim, (mark.start(), len(source))) - 1
        if mark[0] == rb"\\" or (near >= 0 and mark.start() < verbatim[near][1]):
            continue
        if mark[0] in _CLOSING:
            begun = mark
        elif begun is not None:
            start, end = begun.start(), mark.end()
            inside = source[begun.end() : mark.start()]
            alone = not source[source.rfind(b"\n", 0, start) + 1 : start].strip(b" \t>")
            if (
                mark[0] == _CLOSING[begun[0]]
                and bisect_right(stops, start) == bisect_left(stops, end)
                and inside.strip()
                and (begun[0] == rb"\(" or alone or _FORMULA_SIGN.search(inside))
            ):
                found.add((start, end))
            begun = None
    return found


def _borders(
    events: Iterable[tuple[Any, dict[str, int]]],
) -> tuple[list[int], list[tuple[int, int]]]:
    """Where blocks begin and end, and from where to where a backslash is one."""
    stops: set[int] = set()
    verbatim: list[tuple[int, int]] = []
    for event, place in events:
        if not isinstance(event, dict):
            continue
        name, tag = next(iter(cast("dict[str, Any]", event).items()))
        kind = next(iter(cast("dict[str, Any]", tag))) if isinstance(tag, dict) else tag
        if name in _VERBATIM or (name == "Start" and kind == "CodeBlock"):
            verbatim.append((place["start"], place["end"]))
        elif name in ("Start", "End") and kind not in _INLINE:
            stops |= {place["start"], place["end"]}
    return sorted(stops), verbatim
