"""Plans: describes what an agent is going to do, item by item, and how far it is (C-2)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from studio.domain.records import dataclass

ItemState: TypeAlias = Literal["pending", "active", "done", "dropped"]
_MARKS: dict[ItemState, str] = {"pending": " ", "active": ">", "done": "x", "dropped": "-"}


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One thing to do, in a few words."""

    text: str
    status: ItemState = "pending"


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole plan of an agent as it is now; ``why`` says why it changed, or is empty."""

    items: tuple[PlanItem, ...]
    why: str = ""

    @property
    def open(self) -> tuple[PlanItem, ...]:
        """What is not done yet, nor dropped."""
        return tuple(item for item in self.items if item.status in ("pending", "active"))

    @property
    def active(self) -> PlanItem | None:
        """What the agent works on."""
        return next((item for item in self.items if item.status == "active"), None)

    @property
    def count(self) -> tuple[int, int]:
        """How many items are done, and of how many that were not dropped."""
        done = sum(item.status == "done" for item in self.items)
        return done, sum(item.status != "dropped" for item in self.items)

    @property
    def progress(self) -> str:
        """“2 of 5 done”."""
        return "{} of {} done".format(*self.count)

    @property
    def lines(self) -> list[str]:
        """An item a line, with its state: ``[x]`` done, ``[>]`` active, ``[-]`` dropped."""
        return [f"[{_MARKS[item.status]}] {item.text}" for item in self.items]
