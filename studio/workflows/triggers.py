"""Triggers: tell when a schedule wants a run, by times that are given (W-9)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim

from studio.domain.workflows import WorkflowTrigger

ON_TIME = 90.0
"""Seconds after which a time has passed: the computer slept, or no program was open."""


def next_time(trigger: WorkflowTrigger, after: float) -> float:
    """The first time of a schedule after another one, in seconds; infinite if there is none.

    A time that the clock leaves out is where the clock goes on, and one that comes twice is the
    first of both, as with cron.
    """
    found = _times(trigger, _local(trigger, after), reverse=False)
    return next((at for at in found if at > after), math.inf)


def last_time(trigger: WorkflowTrigger, until: float) -> float:
    """The last time of a schedule up to another one; minus infinity if there is none."""
    found = _times(trigger, _local(trigger, until + 1), reverse=True)
    return next((at for at in found if at <= until), -math.inf)


def is_due(trigger: WorkflowTrigger, at: float, now: float) -> bool:
    """Whether a time that has come begins a run: it is just now, or is caught up on."""
    return now - at <= ON_TIME or trigger.catch_up == "one"


def day_of(trigger: WorkflowTrigger, at: float) -> str:
    """The day that a run counts for."""
    return _local(trigger, at).date().isoformat()


def _local(trigger: WorkflowTrigger, at: float) -> datetime:
    """Without a zone in what it returns, it is the computer's."""
    zone = ZoneInfo(trigger.zone) if trigger.zone else None
    return datetime.fromtimestamp(at, zone).replace(microsecond=0)


def _times(trigger: WorkflowTrigger, start: datetime, *, reverse: bool) -> Iterator[float]:
    return (one.timestamp() for one in CronSim(trigger.schedule, start, reverse))
