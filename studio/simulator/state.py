"""Server state: remembers sessions and cached prefixes, and makes ids and signatures.

A signature holds all that is needed to check it, so a session outlives the process
that signed it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from .json_read import canonical
from .request_view import RequestView, Said

CACHE_MINIMUM = 1024
"""Tokens below which nothing is cached."""


@dataclass(slots=True)
class Sessions:
    """A session is known by its API and the person's first words.

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
        """Remember that this request's answer carries signatures that were not made here."""
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
        return read, max(0, total - read) if view.api == "anthropic" else 0

    def remember(self, view: RequestView) -> None:
        """The request was answered: it is the newest of its session, and cached."""
        chain = _chain(view)
        tips = self._tips.setdefault(_root(view), set())
        tips.difference_update(chain)
        tips.add(chain[-1])
        self._cached.update(f"{view.model} {chain[place]}" for place in view.breakpoints)


def _root(view: RequestView) -> str:
    said = (item.text for item in view.items if isinstance(item, Said) and item.role == "user")
    return f"{view.api} {next(said, '')}"


def _chain(view: RequestView) -> list[str]:
    """For each row the hash of everything up to it."""
    return view.once("chain", lambda: _links(view))


def _links(view: RequestView) -> list[str]:
    running = hashlib.sha256()
    found: list[str] = []
    for row in _written(view):
        running.update(row.encode() + b"\n")
        found.append(running.hexdigest())
    return found


def _written(view: RequestView) -> list[str]:
    return view.once("rows", lambda: [canonical(row) for row in view.rows])


def _sizes(view: RequestView) -> list[int]:
    """For each row about how many tokens there are up to its end."""
    return [total // 4 for total in accumulate(map(len, _written(view)))]


_KEY = b"agent studio simulator"
_SIZE = 32


class Signer:
    """Signs a payload alone and together with what came before it."""

    def _mac(self, *parts: str) -> bytes:
        return self._seal("\0".join(parts).encode())

    def sign(self, payload: Any, prefix: Any = None, *, stage: str = "") -> str:
        """Base64 of three digests: of the payload, of payload and prefix, and of those two.

        ``stage`` makes strings differ that mean the same.
        """
        own = self._mac("own", canonical(payload))
        bound = self._mac("bound", canonical(payload), canonical(prefix))
        return base64.b64encode(own + bound + self._seal(own + bound) + stage.encode()).decode()

    def _seal(self, data: bytes) -> bytes:
        return hmac.new(_KEY, data, hashlib.sha256).digest()

    def made(self, signature: str | bytes) -> bool:
        """Whether the signature was made here, whatever it is on."""
        raw = decode(signature)
        return hmac.compare_digest(raw[2 * _SIZE : 3 * _SIZE], self._seal(raw[: 2 * _SIZE]))

    def verify(self, signature: str | bytes, payload: Any, prefix: Any = None) -> tuple[bool, bool]:
        """Whether the signature fits the payload, and whether it fits the prefix too.

        Takes standard and URL-safe base64 alike.
        """
        raw = decode(signature)
        own = hmac.compare_digest(raw[:_SIZE], self._mac("own", canonical(payload)))
        bound = hmac.compare_digest(
            raw[_SIZE : 2 * _SIZE], self._mac("bound", canonical(payload), canonical(prefix))
        )
        return own, bound

    @staticmethod
    def stage(signature: str) -> str:
        """The stage a signature was made for."""
        return decode(signature)[3 * _SIZE :].decode("latin-1")


def decode(signature: str | bytes) -> bytes:
    """The bytes of a signature in either base64 alphabet; empty if it is none."""
    if isinstance(signature, bytes):
        return signature
    plain = signature.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        return b""


@dataclass(slots=True)
class ServerState:
    """What rendering and checking need besides turn and request."""

    chance: random.Random
    signer: Signer = field(default_factory=Signer)
    beyond: bool = False
    """Whether house rules hold too."""
    without: frozenset[str] = frozenset()
    """Names of rules that do not hold."""
    sessions: Sessions = field(default_factory=Sessions)
    replies: int = 0
    stored: set[str] = field(default_factory=set[str])
    """Ids of Responses items whose response was to be stored."""

    def id(self, prefix: str, length: int = 24) -> str:
        alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
        return prefix + "".join(self.chance.choices(alphabet, k=length))

    def hex(self, length: int = 24) -> str:
        return "".join(self.chance.choices("0123456789abcdef", k=length))
