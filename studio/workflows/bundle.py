"""Bundle: a recorded run in one file, which anyone can replay (W-29).

The file is gzip of one JSON object: ``format`` and ``version``; ``workflow``, the text of its file;
``events`` of the run, each with its time ``at``; ``sessions``, each with ``id``, ``provider``,
``model``, ``events``, ``epochs`` of what was sent (``system``, ``tools``, ``items``) and
``exchanges`` with providers; and ``below``, the runs of its steps that are workflows, each with
these four again. It has no names of files to unpack. Keys and masked values are replaced before it
is written.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from studio.agent.permission.content_filter import AnyKind
from studio.domain.codec import (
    decode,
    decode_event,
    decode_run_event,
    encode,
    encode_event,
)
from studio.domain.errors import ConfigurationError
from studio.domain.events import Event, ReasoningDelta, TextDelta, ToolOutput, ToolQueued
from studio.domain.exchanges import Exchange
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.run_events import RunEvent
from studio.storage.exchanges import HIDDEN

FORMAT, VERSION = "agent-studio-run", 1
MOST_BYTES = 512_000_000
"""Of what a bundle unpacks to."""
SHORTEST_SECRET = 8
"""Characters; a shorter key is a word such as ``lm-studio``."""
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class RecordedEpoch:
    """What requests of a session began with, and the items that followed."""

    system: str
    tools: tuple[JsonObject, ...]
    items: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """An exchange, and what it was made of: the first ``items`` items of an epoch.

    ``epoch`` is the place of the epoch, -1 where it is not known. ``withheld``: the answer was left
    out of a bundle, because it has a key or a masked value in it.
    """

    epoch: int
    items: int
    setting: JsonObject
    exchange: Exchange
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """The session of a step's try, as it was recorded."""

    id: str
    provider: str
    model: str
    events: tuple[Event, ...]
    epochs: tuple[RecordedEpoch, ...]
    exchanges: tuple[RecordedExchange, ...]


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run with all that it did, and the text of its workflow's file.

    ``below`` are the runs of its steps that are workflows themselves.
    """

    workflow: str
    events: tuple[tuple[float, RunEvent], ...]
    sessions: tuple[RecordedSession, ...] = ()
    below: tuple[RecordedRun, ...] = ()


def write_bundle(run: RecordedRun, secrets: Iterable[str], masks: Sequence[AnyKind]) -> bytes:
    """The bundle of a run, without these secrets and what these kinds mask. Blocks."""
    clean = _Clean(secrets, masks)
    whole: JsonObject = {"format": FORMAT, "version": VERSION, **_run_json(run, clean)}
    packer = zlib.compressobj(wbits=31)
    return packer.compress(json.dumps(whole).encode()) + packer.flush()


def read_bundle(data: bytes) -> RecordedRun:
    """Read a bundle, also a stranger's; raises ConfigurationError. Blocks."""
    found = _unpacked(data)
    whole = cast("dict[str, Any]", found if isinstance(found, dict) else {})
    if whole.get("format") != FORMAT:
        raise ConfigurationError("This is no bundle of a run. One is made with workflow export.")
    if whole.get("version") != VERSION:
        raise ConfigurationError(
            f"This bundle is of version {whole.get('version')}, and this program reads {VERSION}. "
            "Bring the program up to date."
        )
    try:
        return _run(whole)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ConfigurationError(f"This bundle is damaged: {error}.") from error


def _unpacked(data: bytes) -> Any:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise ConfigurationError("This is no bundle of a run, or it is damaged.") from error
    if unpacker.unconsumed_tail:
        raise ConfigurationError(f"This bundle unpacks to more than {MOST_BYTES:,} bytes.")
    if not unpacker.eof:
        raise ConfigurationError("This bundle is damaged: its end is missing.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError("This bundle is damaged: it has no JSON in it.") from error


class _Clean:
    """Replaces keys and masked values."""

    def __init__(self, secrets: Iterable[str], masks: Sequence[AnyKind]) -> None:
        found = {one for one in secrets if len(one) >= SHORTEST_SECRET}
        escaped = {json.dumps(one)[1:-1] for one in found}
        self._secrets = sorted(found | escaped, key=len, reverse=True)
        self._masks = masks

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        for kind in self._masks:
            text = kind.replaced(
                text, lambda value, kind=kind: f"[{kind.name}]" if kind.holds(value) else value
            )
        return text

    def json(self, value: Json) -> Json:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(key): self.json(one) for key, one in value.items()}
            case list():
                return [self.json(one) for one in value]
            case _:
                return value

    def sent(self, body: bytes) -> str:
        """A request's body, with the same texts replaced as in the items that it is made of."""
        text = body.decode("utf-8", "replace")
        try:
            return json.dumps(self.json(json.loads(text)))
        except (ValueError, RecursionError):
            return self.text(text)

    def came(self, body: bytes) -> str:
        """An answer's body; masked values only in its texts, so that numbers stay numbers."""
        text = body.decode("utf-8", "replace")
        return _STRING.sub(lambda found: f'"{self.text(found[1])}"', text)


def _run_json(run: RecordedRun, clean: _Clean) -> JsonObject:
    return {
        "workflow": clean.text(run.workflow),
        "events": [clean.json({"at": at, **encode_event(event)}) for at, event in run.events],
        "sessions": [_session_json(one, clean) for one in run.sessions],
        "below": [_run_json(one, clean) for one in run.below],
    }


def _run(data: dict[str, Any]) -> RecordedRun:
    return RecordedRun(
        str(data["workflow"]),
        tuple((float(one["at"]), decode_run_event(one)) for one in data["events"]),
        tuple(_session(one) for one in data["sessions"]),
        tuple(_run(one) for one in data.get("below", ())),
    )


def _session_json(one: RecordedSession, clean: _Clean) -> JsonObject:
    events = list(merged(one.events))
    answered = "\n".join(_model_words(events))
    # A value that the model wrote is in its answer in pieces.
    withheld = clean.text(answered) != answered
    exchanges: list[Json] = []
    for part in one.exchanges:
        exchange = part.exchange
        exchanges.append(
            {
                "epoch": part.epoch,
                "items": part.items,
                "setting": clean.json(part.setting),
                "method": exchange.method,
                "path": clean.text(exchange.path),
                "request": clean.sent(exchange.request),
                "status": exchange.status,
                "headers": [list(pair) for pair in exchange.headers],
                "body": "" if withheld else clean.came(exchange.body),
                "end": exchange.end,
                "withheld": withheld,
            }
        )
    return {
        "id": one.id,
        "provider": one.provider,
        "model": one.model,
        "events": [clean.json(encode_event(event)) for event in events],
        "epochs": [clean.json(encode(epoch)) for epoch in one.epochs],
        "exchanges": exchanges,
    }


def _session(data: Any) -> RecordedSession:
    return RecordedSession(
        str(data["id"]),
        str(data["provider"]),
        str(data["model"]),
        tuple(decode_event(event) for event in data["events"]),
        tuple(cast("RecordedEpoch", decode(RecordedEpoch, one)) for one in data["epochs"]),
        tuple(
            RecordedExchange(
                int(one["epoch"]),
                int(one["items"]),
                dict(one["setting"]),
                Exchange(
                    str(one["method"]),
                    f"https://replay.invalid{one['path']}",
                    str(one["request"]).encode(),
                    int(one["status"]),
                    tuple((str(name), str(value)) for name, value in one["headers"]),
                    str(one["body"]).encode(),
                    str(one["end"]),
                ),
                bool(one["withheld"]),
            )
            for one in data["exchanges"]
        ),
    )


def merged(events: Iterable[Event]) -> Iterator[Event]:
    """The events with texts that follow each other as one, and without what tools printed."""
    last: TextDelta | ReasoningDelta | None = None
    for event in events:
        if isinstance(event, ToolOutput):
            continue
        if isinstance(event, TextDelta | ReasoningDelta):
            if last is not None and type(last) is type(event):
                last = replace(last, text=last.text + event.text)
                continue
            if last is not None:
                yield last
            last = event
            continue
        if last is not None:
            yield last
            last = None
        yield event
    if last is not None:
        yield last


def _model_words(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        match event:
            case TextDelta() | ReasoningDelta():
                yield event.text
            case ToolQueued():
                yield from _leaves(event.arguments)
            case _:
                pass


def _leaves(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, one in value.items():
                yield name
                yield from _leaves(one)
        case list():
            for one in value:
                yield from _leaves(one)
        case _:
            pass
