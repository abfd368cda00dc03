"""Items: describe what a step does once for each of very many values, and what came of each.

They are rows of a table, not events of their run: a run may have 100,000 of them (W-53).
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from .jsonvalue import Json
from .records import dataclass

ItemState: TypeAlias = Literal["pending", "sent", "done", "failed", "skipped"]
"""``pending``: to be done, ``sent``: part of a provider's batch that has no result yet,
``skipped``: the person left it out."""
MANY = 50
"""With more items than these a step works on a table, and asks after a sample (W-55)."""
SAMPLE = 20
"""Items that are tried before the person says yes to the others."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a step. ``place`` is its place in the list, ``key`` begins its digest."""

    place: int
    key: str
    value: Json
    state: ItemState = "pending"
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class ItemUse:
    """One request for an item, as it is counted in the usage.

    ``cost`` in US dollars is None where no price is known.
    """

    agent: str
    provider: str
    model: str
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    seconds: float = 0.0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What came of one item. ``fault`` is the kind of a failure, ``reason`` its words.

    ``uses`` are the requests that were made for it and are not counted elsewhere.
    """

    place: int
    state: ItemState
    text: str = ""
    outputs: Json = None
    reason: str = ""
    fault: str = ""
    tokens: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0
    uses: tuple[ItemUse, ...] = ()
    again: bool = False
    """Whether it is pending again: what the try used is counted all the same."""


@dataclass(frozen=True, slots=True)
class ItemTally:
    """How far a step is. ``linked`` of the done ones are from earlier runs and cost nothing here.

    ``at_a_time`` is how many are worked on, ``found`` where the provider's limit seems to be, 0
    if it was not met. ``rate`` is in items a second. ``tried_again`` counts by kind what the
    provider refused for the moment.
    """

    count: int = 0
    done: int = 0
    failed: int = 0
    linked: int = 0
    sent: int = 0
    tokens: int = 0
    dollars: float = 0.0
    at_a_time: int = 0
    found: int = 0
    rate: float = 0.0
    tried_again: dict[str, int] = field(default_factory=dict[str, int], hash=False)
    skipped: int = 0

    @property
    def over(self) -> int:
        return self.done + self.failed + self.skipped

    @property
    def left(self) -> int:
        return self.count - self.over

    @property
    def paid(self) -> int:
        """Items that were worked on here."""
        return self.over - self.linked

    @property
    def dollars_left(self) -> float:
        """What the others will cost about; 0 where nothing is known."""
        return self.dollars / self.paid * self.left if self.paid > 0 else 0.0

    @property
    def seconds_left(self) -> float:
        """How long the others take about; 0 where nothing is known."""
        return self.left / self.rate if self.rate > 0 else 0.0
