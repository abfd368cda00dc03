"""Lists: how a tool answers with many things, twenty at a time (KZ-35)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from studio.packs import Result

from . import _german as german

MOST = 20
"""Things in one answer."""


def listed(
    data: Sequence[object],
    sources: tuple[str, ...],
    *,
    first: int,
    total: int,
    what: str,
    source: str = "",
    more: Mapping[str, object] | None = None,
) -> Result:
    """The things from ``first`` on, and where the next ones begin; ``what`` says what they are.

    ``source`` is that of an answer without things; ``more`` is told of all of them.
    """
    value: dict[str, object] = {"data": data, "sources": sources, "total": total, **(more or {})}
    if first + MOST < total:
        value["cursor"] = first + MOST
    return Result(value, german.many(total, what), sources or ((source,) if source else ()))
