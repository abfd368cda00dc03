"""Session replay: makes the requests of a recorded session again, and reads its answers (W-28).

The adapter gets the recorded bytes where it would have asked over HTTP. So neither a key nor a
network is needed, and what it makes of requests and answers is compared with what it made then.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Any, cast

from studio.domain.codec import decode
from studio.domain.errors import ProviderError
from studio.domain.events import (
    CallStarted,
    Event,
    ReasoningDelta,
    RetryScheduled,
    StepEnded,
    Summarised,
    TextDelta,
)
from studio.domain.exchanges import STOPPED, Exchange, in_order
from studio.domain.jsonvalue import Json
from studio.domain.models import Effort, ModelInfo
from studio.domain.tools import ToolSpec
from studio.providers.base import Provider, Reply, Request
from studio.providers.registry import PROVIDERS
from studio.providers.replaying import ReplayHttp

from .bundle import RecordedEpoch, RecordedExchange, RecordedSession

_ADDRESS = "https://replay.invalid/v1"


class Differs(Exception):
    """A replay came to something else: ``what`` in words, ``lines`` of a unified diff."""

    def __init__(
        self, what: str, before: str = "", after: str = "", lines: Sequence[str] = ()
    ) -> None:
        super().__init__(what)
        found = difflib.unified_diff(
            before.splitlines(), after.splitlines(), "recorded", "now", lineterm="", n=2
        )
        self.what, self.lines = what, (*found, *lines)


def require_same(what: str, recorded: Json, now: Json) -> None:
    """Raise Differs if a value is not the recorded one."""
    if recorded != now:
        before, after = (
            one if isinstance(one, str) else json.dumps(one, indent=1, ensure_ascii=False)
            for one in (recorded, now)
        )
        raise Differs(f"{what} differs.", before, after)


def why_taken(session: RecordedSession) -> str:
    """Why the answers of a session cannot be read again; empty if they can."""
    if any(isinstance(one, Summarised) for one in session.events):
        return "its conversation was summed up; its result is taken from the record."
    if session.provider not in PROVIDERS or session.provider == "builtin":
        return f"{session.provider} is not asked over HTTP; its result is taken from the record."
    return ""


class SessionReplay:
    """The requests of one session, one after the other; ``run`` raises Differs."""

    def __init__(self, session: RecordedSession) -> None:
        self.requests = 0
        self.answered = 0
        """How many requests from the first on came to the same answer as in the record."""
        self._lines = _log(session.events)
        """What of the record's log has not come yet."""
        self._session = session
        self._left: list[RecordedExchange] = []
        self._given: RecordedExchange | None = None
        self._difference: Differs | None = None
        self._http = ReplayHttp(self._answer)
        self._provider = _provider(session.provider, self._http)
        self._said: list[Event] = []
        self._whole = True
        """Whether each answer came to its end, so that the log can be compared."""

    async def close(self) -> None:
        await self._http.aclose()

    async def run(self) -> None:
        for group in _groups(self._session.exchanges):
            first = group[0]
            if first.epoch < 0:  # facts about the model are asked for before there is any history
                self._whole &= not any(_is_reply(one.exchange) for one in group)
                continue
            epoch = self._session.epochs[first.epoch]
            self._left, said = list(group), len(self._said)
            while any(_is_reply(one.exchange) for one in self._left):
                before = len(self._left)
                await self._request(epoch, first)
                if len(self._left) == before:
                    raise Differs("A request that is in the record is not made.")
            self._count(self._said[said:])
        if self._whole:
            recorded, now = map(_log, (self._session.events, self._said))
            require_same("The log", "\n".join(recorded), "\n".join(now))

    def _count(self, said: Sequence[Event]) -> None:
        """Count a request that came to what is next in the record's log; none after another."""
        lines = _log(said)
        if self._whole and self._lines[: len(lines)] == lines:
            del self._lines[: len(lines)]
            self.answered += any(isinstance(one, StepEnded) for one in said)
        else:
            self._lines = []

    async def _request(self, epoch: RecordedEpoch, first: RecordedExchange) -> None:
        request = _rebuilt(self._session, epoch, first)
        stream, reply = self._provider.stream(request), None
        try:
            async with aclosing(stream):
                async for delta in stream:
                    self._said.append(delta)
                reply = stream.reply()
        except ProviderError as error:
            if self._difference is not None:
                raise self._difference from None
            if self._given is not None and self._given.exchange.end == STOPPED:
                self._whole = False
            elif self._given is None or not self._given.withheld:
                self._said.append(RetryScheduled(0, 0, 0.0, error.fault, ""))
        if self._given is None or self._given.withheld:
            self._whole = False
            return
        if reply is not None:
            self._compare(reply, epoch, first)

    def _compare(self, reply: Reply, epoch: RecordedEpoch, first: RecordedExchange) -> None:
        stored = list(epoch.items[first.items : first.items + len(reply.items)])
        if stored or self._given is None or self._given.exchange.end != STOPPED:
            require_same(
                "What was read of the answer", cast("Json", stored), cast("Json", reply.items)
            )
        self._said.append(StepEnded(0, reply.stop, reply.usage, 0.0))

    def _answer(self, sent: Exchange) -> Exchange | None:
        if _is_reply(sent):
            self.requests += 1
        for place, one in enumerate(self._left):
            if _matches(one.exchange, sent):
                self._given = self._left.pop(place)
                return self._given.exchange
        if not _is_reply(sent):  # facts about the model that were known before
            known = (one.exchange for one in self._session.exchanges)
            return next((one for one in known if _matches(one, sent)), None)
        expected = next((one.exchange for one in self._left if _is_reply(one.exchange)), None)
        what = "A request differs." if expected else "A request is not in the record."
        before = _pretty(expected.request) if expected is not None else ""
        self._difference = Differs(what, before, _pretty(sent.request))
        return None


def _groups(exchanges: Sequence[RecordedExchange]) -> Iterator[list[RecordedExchange]]:
    """Exchanges that were made of the same history, one after the other: tries of one request."""
    group: list[RecordedExchange] = []
    for one in exchanges:
        if group and (one.epoch, one.items) != (group[0].epoch, group[0].items):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _is_reply(exchange: Exchange) -> bool:
    return exchange.method == "POST" and not exchange.path.endswith("/api/show")


def _matches(recorded: Exchange, sent: Exchange) -> bool:
    """Whether they are the same request, wherever the address that it went to begins."""
    ends = recorded.path.split("/")[-1] == sent.path.split("/")[-1]
    same = recorded.method == sent.method and ends
    return same and in_order(recorded.request) == in_order(sent.request)


def _rebuilt(session: RecordedSession, epoch: RecordedEpoch, first: RecordedExchange) -> Request:
    """The request as it was made, of the recorded history."""
    tools = cast("tuple[ToolSpec, ...]", decode(tuple[ToolSpec, ...], list(epoch.tools)))
    setting: dict[str, Any] = {**first.setting}
    facts = setting.pop("facts", None)
    stop = tuple(cast("list[str]", setting.pop("stop", ())))
    effort = cast("Effort | None", setting.pop("effort", None))
    model = str(setting.pop("model", session.model))
    return Request(
        model,
        list(epoch.items[: first.items]),
        epoch.system,
        tools,
        facts=cast("ModelInfo | None", decode(ModelInfo, facts) if facts is not None else None),
        stop=stop,
        effort=effort,
        session=session.id,
        **setting,
    )


def _provider(name: str, http: ReplayHttp) -> Provider:
    if name == "simulator":
        from studio.providers.demo.adapter import DemoProvider

        return DemoProvider(_ADDRESS, http)
    descriptor = PROVIDERS[name]
    return descriptor.load()("replay", _ADDRESS if descriptor.address_needed else "", http)


def _log(events: Sequence[Event]) -> list[str]:
    """What the model said in a session, in lines that can be compared."""
    lines: list[str] = []
    last: type[Event] | None = None
    for event in events:
        match event:
            case TextDelta() | ReasoningDelta():
                if last is not type(event):
                    lines.append(f"{type(event).__name__}: ")
                lines[-1] += event.text
            case CallStarted():
                lines.append(f"call {event.call_id} {event.name}")
            case StepEnded() if not event.beside:
                lines.append(f"ended {event.stop} {event.usage}")
            case RetryScheduled():
                lines.append(f"failed {event.fault}")
            case _:
                continue
        last = type(event)
    return [line for line in lines if not line.endswith("Delta: ")]


def _pretty(body: bytes) -> str:
    try:
        return json.dumps(json.loads(body), indent=1, sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")
