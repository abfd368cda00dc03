"""The cache ledger: compares each request with the one before it, to explain cache misses.

Histories only grow at their end, so the previous request is the beginning of the
next one, and that much should come from the provider's cache. If clearly less
did, the ledger says which part had changed and what that cost.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from studio.agent.session.native_history import NativeHistory
from studio.domain.ledger import LedgerEntry, Sent, canonical_json
from studio.domain.models import Effort, ModelInfo, Usage
from studio.domain.records import dataclass
from studio.providers.base import PromptCache, Provider, Request
from studio.providers.pricing import cache_loss

UNEXPLAINED = "Nothing changed here. The provider had dropped it."


@dataclass(frozen=True, slots=True)
class _Request:
    provider: str
    model: str
    effort: Effort | None
    form: str
    """The requested form of the answer: tool choice and schema."""
    facts: ModelInfo | None
    sent: Sent
    input: int = 0
    at: float = 0.0


class CacheLedger:
    """The ledger of one session; ``last`` is its last request before the program started."""

    def __init__(self, last: LedgerEntry | None = None) -> None:
        self._last: _Request | None = None
        self._now: _Request | None = None
        if last is not None and last.sent is not None:
            self._last = _Request(
                last.provider, last.model, None, "", None, last.sent, last.usage.input, last.at
            )
            self._effort_known = False
        else:
            self._effort_known = True

    @property
    def sent_last(self) -> int:
        """The tokens of the last request, 0 before any."""
        return self._last.input if self._last is not None else 0

    def expect(self, provider: Provider, request: Request, history: NativeHistory) -> Sent:
        """Begin the entry of a request that is about to be sent."""
        chain = history.chain
        sent = Sent(history.epoch, len(chain) - 1, chain[-1])
        last, caching = self._last, provider.cache
        if last is not None and caching is not None and last.input >= caching.minimum:
            broke = self._changed(last, provider.name, request, history, caching)
            sent = replace(sent, expected=last.input, broke=broke)
        effort, form = request.effort, _form(request)
        self._now = _Request(provider.name, request.model, effort, form, request.facts, sent)
        return sent

    async def settle(self, sent: Sent, usage: Usage) -> Sent:
        """Complete the entry with the usage that the provider reports."""
        now = self._now
        assert now is not None
        expected = min(sent.expected, usage.input)  # a shorter request cannot lose more
        short = expected - usage.cache_read
        broken = usage.total and short * 2 > expected
        if broken:
            lost = await asyncio.to_thread(cache_loss, now.provider, now.model, short, now.facts)
            sent = replace(sent, broke=sent.broke or UNEXPLAINED, lost=lost)
        else:
            sent = replace(sent, broke="", lost=0.0)
        if usage.total:
            self._last = replace(now, sent=sent, input=usage.input, at=time.time())
            self._effort_known = True
        return sent

    def _changed(
        self,
        last: _Request,
        provider: str,
        request: Request,
        history: NativeHistory,
        caching: PromptCache,
    ) -> str:
        """Which part of the request changed, as a sentence; empty if none."""
        if (last.provider, last.model) != (provider, request.model):
            return "The model changed."
        if last.sent.epoch != history.epoch:
            return history.why or "The history began anew."
        chain = history.chain
        if last.sent.items >= len(chain) or chain[last.sent.items] != last.sent.prefix:
            return "An earlier part of the conversation changed."
        if self._effort_known and last.effort != request.effort:
            return "The thinking setting changed."
        if self._effort_known and last.form != _form(request):
            return "Another form of answer was asked for, or other calls."
        pause = time.time() - last.at
        if pause > caching.seconds:
            kept = _span(caching.seconds)
            return f"The pause of {_span(pause)} was longer than the {kept} a cache is kept."
        return ""


def _form(request: Request) -> str:
    return canonical_json([request.choice, request.only, request.schema])


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
