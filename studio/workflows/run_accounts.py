"""Run accounts: what a run and its steps may use and have used, in money and in time (W-20)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from studio.agent.budget import NO_AMOUNT, Account, Amount
from studio.domain.agents import NO_CAPS
from studio.domain.run_events import CapReached
from studio.domain.runs import Run
from studio.domain.workflows import Step


def out_of_time(minutes: float) -> str:
    """Why a run cannot go on that has worked as long as it may."""
    span = "1 minute" if minutes == 1 else f"{minutes:g} minutes"
    return f"Your limit of {span} for this run is reached."


class RunAccounts:
    """The accounts of one run; ``above`` are those of the run that it is a step of, with the step.

    ``called`` are those of the turn whose call it is.
    Caps are those of the file until the person raises them.
    """

    def __init__(
        self,
        run: Run,
        above: tuple[RunAccounts, Step] | None,
        called: Sequence[Account] = (),
    ) -> None:
        self.whole = Account("run", NO_CAPS)
        self._run = run
        self._above, self._called = above, called
        self._steps: dict[str, Account] = {}
        self.follow_caps()

    def follow_caps(self) -> None:
        """Let the run use what it may use now: the person raised its cap."""
        self.whole.caps = self._run.caps.get("", NO_CAPS)

    def of(self, step: Step) -> list[Account]:
        """Those that a step's requests are booked on, up to the accounts of the runs above."""
        return [*self._of_step(step), *self.upward()]

    def upward(self) -> list[Account]:
        """Those of the run and what it is below."""
        above = self._above[0].of(self._above[1]) if self._above is not None else []
        return [self.whole, *above, *self._called]

    def has(self, step: Step, reached: CapReached) -> bool:
        """Whether the cap that a step reached is the run's, or that of the step."""
        match reached.cap:
            case "run":
                caps = self.whole.caps
            case "step":
                caps = self._run.caps.get(step.id, step.budget.caps)
            case _:
                return False
        return not reached.unit or getattr(caps, reached.unit) == reached.limit

    def book(self, steps: Iterable[Step], spent: Iterable[tuple[str, Amount]]) -> Amount:
        """Count what the run used until now, which is returned.

        ``spent`` is what tries that are not over have used, each with its step.
        """
        run = self._run
        used = {"": Amount(run.tokens, run.dollars)}
        for one in run.steps.values():
            used[one.step] = used.get(one.step, NO_AMOUNT) + Amount(one.tokens, one.dollars)
        for step in run.counting:
            tally = run.tallies[step]
            used[step] = used.get(step, NO_AMOUNT) + Amount(tally.tokens, tally.dollars)
        for step, amount in spent:
            used[""], used[step] = used[""] + amount, used.get(step, NO_AMOUNT) + amount
        self.whole.used = used[""]
        for step in steps:
            for account in self._of_step(step):
                account.used = used.get(step.id, NO_AMOUNT)
        return used[""]

    def _of_step(self, step: Step) -> list[Account]:
        caps = self._run.caps.get(step.id, step.budget.caps)
        if caps == NO_CAPS:
            return []
        account = self._steps.setdefault(step.id, Account("step", caps))
        account.caps = caps
        return [account]


class RunTime:
    """How long one run may work.

    ``minutes`` are those of its file, ``seconds`` those of the step that it is; 0 for any time.
    """

    def __init__(self, run: Run, minutes: float, seconds: float) -> None:
        self._run, self._minutes = run, minutes
        self.of_step = seconds

    @property
    def minutes(self) -> float:
        """Those that steps of the run may work in all; the person may have raised them."""
        return self._run.minutes or self._minutes

    def step_over(self, now: float) -> bool:
        return 0 < self.of_step <= self._run.worked_until(now)

    def over(self, now: float) -> bool:
        return 0 < self.minutes * 60 <= self._run.worked_until(now)

    def left(self, now: float) -> float | None:
        """Seconds until one of the two is reached; None for any time, or where nothing works."""
        most = min(filter(None, (self.minutes * 60, self.of_step)), default=0.0)
        return max(most - self._run.worked_until(now), 0.0) if most and self._run.works else None
