"""Request ledger: identifies what was sent by hash chains, with its cache figures (H-9).

A request begins with the system prompt and the tools, then come the items of
the native history. Its *prefix* is a chain of SHA-256 digests over these, so
that two requests can be compared without storing them: the newer request begins
with the whole older one exactly if the newer chain contains the older digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from studio.domain.records import dataclass

from .jsonvalue import Json, JsonObject
from .models import Usage

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
"""``json.dumps`` makes a new one for each text."""


def canonical_json(value: Json) -> str:
    """JSON as it is stored and hashed: readable, and escaped only if it has a lone surrogate.

    A value that is read back is written as the same text again, so its digest is the same.
    """
    text = _ENCODER.encode(value)
    if _encodable(text):
        return text
    # Two adjacent surrogates are read back as one character.
    value = json.loads(json.dumps(value))
    text = _ENCODER.encode(value)
    return text if _encodable(text) else json.dumps(value, separators=(",", ":"))


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def chain_start(system: str, tools: Sequence[JsonObject]) -> str:
    """The chain's first digest: system prompt and tools, as they are stored."""
    return digest(canonical_json([system, list(tools)]))


def chain_next(previous: str, body: str) -> str:
    """The digest after one more item; ``body`` is the item as ``canonical_json``."""
    return digest(f"{previous}\n{body}")


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as the ledger records it.

    ``prefix`` is the chain's digest after ``items`` items of epoch ``epoch``.
    ``expected`` is how many tokens should have come from the provider's cache;
    if clearly fewer did, ``broke`` tells the person which part had changed, and
    ``lost`` is the estimated cost of that in US dollars.
    """

    epoch: int
    items: int
    prefix: str
    expected: int = 0
    broke: str = ""
    lost: float = 0.0


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One answered request with its usage and cost.

    ``at`` is in seconds since the epoch, ``seconds`` is the duration of the answer.
    ``sent`` is None for a request of an older version. ``cost`` is the provider's own
    figure in US dollars, None where it gives none.
    """

    at: float
    turn_id: str
    step: int
    agent: str
    provider: str
    model: str
    usage: Usage
    seconds: float
    sent: Sent | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The sum of the requests of one model, for one turn, session, agent, day or model.

    ``cost`` is the sum of the provider's own figures in US dollars. ``unpriced`` counts the
    requests without such a figure; prices are applied to their usage, ``unpriced_usage``.
    ``lost`` is the estimated cost of broken caches.
    """

    key: str
    provider: str
    model: str
    usage: Usage
    requests: int
    cost: float
    unpriced: int
    unpriced_usage: Usage
    lost: float
