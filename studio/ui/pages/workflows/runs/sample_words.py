"""What is said about a sample of many items, and the ways on from it; free of Qt (W-55)."""

from __future__ import annotations

from typing import NamedTuple

from studio.domain.jsonvalue import Json
from studio.domain.run_events import RunQuestion
from studio.domain.runs import Run
from studio.providers.registry import PROVIDER_TITLES
from studio.ui.formatting import dollars, number, percent, rough_span, short_count
from studio.ui.translation import tr, tr_plural


class WayOn(NamedTuple):
    """An answer to a sample's question: what it costs and how long it takes, empty if unknown."""

    answer: Json
    title: str
    about: str = ""
    amount: str = ""
    span: str = ""


class SampleWords:
    """The figures of a question in words; one of an older version of the program has fewer."""

    def __init__(self, question: RunQuestion) -> None:
        self._question = question
        self._form = question.form or {}

    def _figure(self, name: str) -> float:
        value = self._form.get(name)
        return float(value) if isinstance(value, int | float) else 0.0

    @property
    def _priced(self) -> bool:
        return isinstance(self._form.get("dollars"), int | float)

    @property
    def expected(self) -> float:
        """What the other items will cost, one by one; 0 where no price is known."""
        return self._figure("dollars")

    @property
    def summary(self) -> str:
        """What came of the sample."""
        tried, failed = int(self._figure("tried")), int(self._figure("failed"))
        found = tr("{passed} passed, {failed} failed.")
        found = found.format(passed=number(tried - failed), failed=number(failed))
        spent, took = self._figure("spent"), self._figure("took")
        cost = money(spent)
        more = tr("The sample cost {cost}.").format(cost=cost) if spent else ""
        if spent and took:
            more = tr("The sample cost {cost} and took {span}.")
            more = more.format(cost=cost, span=rough_span(took))
        return f"{found} {more}".rstrip()

    @property
    def passed(self) -> str:
        """How many of the sample passed."""
        tried, failed = int(self._figure("tried")), int(self._figure("failed"))
        words = tr("{passed} of {tried} passed")
        return words.format(passed=number(tried - failed), tried=number(tried))

    @property
    def ways(self) -> list[WayOn]:
        """The ways to have the other items worked on, the suggested one first."""
        known = {"all": self._now(), "batch": self._batch()}
        return [known[one] for one in self._question.choices if one in known]

    def _now(self) -> WayOn:
        start, span = int(self._figure("at_a_time")), rough_span(self._figure("seconds"))
        about = tr("Starts with {count} at a time, finds the limit").format(count=start)
        cost = money(self._figure("dollars")) if self._priced else ""
        span = tr("about {amount}").format(amount=span)
        return WayOn("all", tr("Now, one by one"), about if start else "", cost, span)

    def _batch(self) -> WayOn:
        name = str(self._form.get("provider") or "")
        about = tr("{provider} answers within a day")
        about = about.format(provider=PROVIDER_TITLES.get(name, name)) if name else ""
        cost = money(self._figure("dollars") / 2) if self._priced else ""
        return WayOn("batch", tr("As a batch, half price"), about, cost, tr("up to 24 h"))

    @property
    def keep(self) -> WayOn:
        return WayOn("keep", tr("Keep only the sample"))

    @property
    def run_words(self) -> str:
        """The button that has the others worked on."""
        left = int(self._figure("left"))
        return tr_plural("Run {count} item", "Run {count} items", left)

    @property
    def how(self) -> str:
        """How the estimate is made."""
        tried, left = int(self._figure("tried")), int(self._figure("left"))
        found = list[str]()
        if self._priced:
            words = tr("Cost: what {count} items cost on average, times the {left} that are left.")
            found.append(words.format(count=number(tried), left=number(left)))
        words = tr("Time: as long as these took, with more at a time where the provider takes it.")
        found.append(words)
        return " ".join(found)

    @property
    def notes(self) -> list[str]:
        """How sure the figures are, and what bounds them."""
        found = list[str]()
        if self._priced:
            least, most = money(self._figure("least")), money(self._figure("most"))
            found.append(tr("Between {least} and {most} (95%)").format(least=least, most=most))
        else:
            found.append(tr("The price of the model is not known"))
        found += budget_notes(self._figure("cap"), int(self._figure("tokens")))
        least, most = percent(self._figure("fail_least")), percent(self._figure("fail_most"))
        found.append(tr("{least} to {most} may fail").format(least=least, most=most))
        if (passed := int(self._figure("tried") - self._figure("failed"))) < 20:
            words = tr_plural(
                "The estimate is from {count} item that passed",
                "The estimate is from {count} items that passed",
                passed,
            )
            found.append(words)
        return found


def samples_asked(run: Run) -> dict[str, RunQuestion]:
    """What the steps of a run ask after a sample, by step (W-55)."""
    if run.end is not None:
        return {}
    return {key.step: one for key, one in run.questions if one.kind == "sample"}


def waits_for_yes(run: Run) -> bool:
    """Whether nothing of a run goes on until the person has answered after a sample."""
    asked = samples_asked(run)
    others = [one for one in run.busy if one.step not in asked]
    return bool(asked) and run.paused is None and not others


def budget_notes(dollars_: float, tokens: int) -> list[str]:
    """What is never paid or used, of the caps that there are."""
    found, never = list[str](), tr("Never above the budget of {amount}")
    if dollars_:
        found.append(never.format(amount=dollars(dollars_)))
    if tokens:
        amount = tr("{count} tokens").format(count=short_count(tokens))
        found.append(never.format(amount=amount))
    return found


def money(value: float) -> str:
    """Small amounts with the digits in which they differ."""
    return dollars(value, 2 if value >= 0.1 or not value else 4)
