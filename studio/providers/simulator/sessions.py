"""What the simulator remembers of earlier requests: sessions, and prefixes in its cache."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from .view import RequestView, Said
from .wire import canonical

CACHE_MINIMUM = 1024
"""Tokens below which nothing is cached."""


@dataclass(slots=True)
class Sessions:
    """A session is known by its surface and the person's first words.

    ``_tips`` are the histories that no later request went on from, ``_cached``
    the beginnings of requests that a cache holds, both as hashes.
    """

    _tips: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _cached: set[str] = field(default_factory=set[str])
    _replayed: set[str] = field(default_factory=set[str])

    def continues(self, view: RequestView) -> bool:
        """Whether the request only appends to an earlier one of its session, or begins one."""
        tips = self._tips.get(_root(view))
        begins = not any(not isinstance(i, Said) or i.role == "assistant" for i in view.items)
        return begins or not tips or not tips.isdisjoint(_chain(view))

    def foreign(self, view: RequestView) -> bool:
        """Whether something was replayed in this session: its signatures are not ours."""
        return _root(view) in self._replayed

    def replays(self, view: RequestView) -> None:
        """What this request is answered with was signed by somebody else."""
        self._replayed.add(_root(view))

    def cached(self, view: RequestView) -> tuple[int, int]:
        """Tokens of this request that a cache gives, and tokens it takes.

        Reading needs a prefix that an earlier request left there; writing is
        counted where the request marks what to cache.
        """
        if not view.breakpoints:
            return 0, 0
        sizes = _sizes(view)
        keys = [f"{view.model} {link}" for link in _chain(view)]
        last = max(view.breakpoints)
        known = [sizes[n] for n, key in enumerate(keys[: last + 1]) if key in self._cached]
        read = max(known, default=0)
        if read < CACHE_MINIMUM:
            read = 0
        total = sizes[last] if sizes[last] >= CACHE_MINIMUM else 0
        return read, max(0, total - read) if view.surface == "anthropic" else 0

    def remember(self, view: RequestView) -> None:
        """The request was answered: it is the newest of its session, and cached."""
        chain = _chain(view)
        tips = self._tips.setdefault(_root(view), set())
        tips.difference_update(chain)
        tips.add(chain[-1])
        self._cached.update(f"{view.model} {chain[place]}" for place in view.breakpoints)


def _root(view: RequestView) -> str:
    said = (item.text for item in view.items if isinstance(item, Said) and item.role == "user")
    return f"{view.surface} {next(said, '')}"


def _chain(view: RequestView) -> list[str]:
    """For each row the hash of everything up to it."""
    running = hashlib.sha256()
    found: list[str] = []
    for row in view.rows:
        running.update(canonical(row).encode() + b"\n")
        found.append(running.hexdigest())
    return found


def _sizes(view: RequestView) -> list[int]:
    """For each row about how many tokens there are up to its end."""
    found: list[int] = []
    total = 0
    for row in view.rows:
        total += len(canonical(row))
        found.append(total // 4)
    return found
