"""Cap offers: what the person may raise where a run is paused at a cap (W-20)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from studio.agent.permission.invisible_characters import escape_line
from studio.agent.usage_costs import format_dollars
from studio.domain.agents import NO_CAPS, Caps
from studio.domain.errors import StudioError
from studio.domain.records import dataclass
from studio.domain.run_events import CapRaised
from studio.domain.runs import Run, StepRun
from studio.domain.workflows import Workflow
from studio.storage.runs import RunStore

from .expressions import as_words
from .run_files import RunFiles

LONGEST_ITEM = 40
"""Characters of an item's name."""


@dataclass(frozen=True, slots=True)
class CapOffer:
    """The cap that a run is paused at, doubled.

    ``way`` names the steps and items down to the run that has it; it is empty for the run itself.
    """

    raised: CapRaised
    way: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """“$2.00”, “20,000 tokens” or “10 minutes”: what the cap is raised to."""
        raised = self.raised
        if raised.minutes:
            return f"{raised.minutes:g} minutes"
        tokens = f"{raised.caps.tokens:,} tokens" if raised.caps.tokens else ""
        return ", ".join(filter(None, (format_dollars(raised.caps.dollars), tokens)))


async def cap_offer(
    files: RunFiles, store: RunStore, run: Run, workflow: Workflow
) -> CapOffer | None:
    """What a paused run may be given more of: of its own caps, or those of a run below it.

    None where it is paused at none of these: one of a day is a setting.
    """
    if (raised := twice_the_cap(run, workflow)) is not None:
        return CapOffer(raised)
    if not run.paused_at or run.reached is not None:
        return None
    for one in run.busy:
        if not one.run_id:
            continue
        found: CapOffer | None = None
        with suppress(StudioError):
            below = Run(await store.events(one.run_id))
            found = await cap_offer(files, store, below, await files.workflow_of(below))
        if found is not None:
            raised = replace(found.raised, run_id=found.raised.run_id or one.run_id)
            return CapOffer(raised, (*_named(one, run, workflow), *found.way))
    return None


def _named(one: StepRun, run: Run, workflow: Workflow) -> tuple[str, ...]:
    label = workflow.step(one.step).label
    if not one.item:
        return (label,)
    return label, escape_line(as_words(run.items[one.step][one.item]), LONGEST_ITEM)


def twice_the_cap(run: Run, workflow: Workflow) -> CapRaised | None:
    """The cap that a run is paused at, doubled; None where it is no cap of its own."""
    if run.reached is None or not run.reached.own or not run.paused_at:
        return None
    step = run.reached.step if run.reached.cap == "step" else ""
    caps, minutes = run.caps.get(step, NO_CAPS), 0.0
    match run.reached.cap:
        case "minutes":
            minutes = 2 * (run.minutes or workflow.budget.minutes)
        case "step" if step:
            caps = _twice(run.caps.get(step, workflow.step(step).budget.caps))
        case "run":
            caps = _twice(caps)
        case _:
            return None
    return CapRaised(caps, step, minutes) if minutes or caps != NO_CAPS else None


def _twice(caps: Caps) -> Caps:
    return Caps(2 * caps.tokens, 2 * caps.dollars)
