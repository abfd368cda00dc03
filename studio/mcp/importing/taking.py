"""Writes chosen servers to the person's entries, and their secrets to the keychain.

The secrets go first: where the keychain refuses one, nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator

from studio.mcp.entries import LONGEST_NAME, EntriesFile, ServerEntry

from .bundle import unpack_bundle
from .found import Found
from .hiding import REFERENCE


async def take(
    chosen: Iterable[Found], file: EntriesFile, keep: Callable[[str, str], Awaitable[object]]
) -> list[ServerEntry]:
    """Write the servers, switched off, under names that are not taken; return their entries.

    A bundle is unpacked; raises UnpackError or OSError where that fails. ``keep`` puts a secret
    under its name into the keychain. What cannot be taken is passed over.
    """
    taken = set((await asyncio.to_thread(file.read)).by_name)
    written: list[ServerEntry] = []
    for one in chosen:
        if one.problem:
            continue
        found = one.named(free_name(one.entry.name, taken))
        taken.add(found.entry.name)
        if found.bundle is not None:
            await asyncio.to_thread(unpack_bundle, found)
        for name, secret in found.secrets.items():
            await keep(name, secret)
        await asyncio.to_thread(file.put, found.entry)
        written.append(found.entry)
    return written


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or with a number where it is taken."""
    return next(one for one in _numbered(name) if one not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        end = f"-{number}"
        yield name[: LONGEST_NAME - len(end)] + end
        number += 1


def same_server(one: ServerEntry, other: ServerEntry) -> bool:
    """Whether two entries start or reach the same, whatever they are called."""
    return _started(one) == _started(other)


def _started(entry: ServerEntry) -> list[str]:
    """What is started or reached, wherever its secrets are kept."""
    parts = [entry.command, *entry.arguments, entry.url]
    return [REFERENCE.sub(lambda m: m[0].partition(":")[0], part) for part in parts]
