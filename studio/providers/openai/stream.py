"""OpenAI stream: adds Responses events up to deltas and output items."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from studio.domain.errors import ProviderError
from studio.domain.events import CallStarted, Delta, ReasoningDelta, TextDelta
from studio.domain.jsonvalue import (
    Json,
    JsonObject,
    TextBuffer,
    as_count,
    as_object,
    as_objects,
    as_text,
)
from studio.domain.messages import ToolCall
from studio.domain.models import StopReason, Usage
from studio.domain.tools import TEXT_INPUT
from studio.providers.base import Reply
from studio.providers.call_identity import plain_id, plain_name
from studio.providers.tool_arguments import parse_arguments

from .validate import CALLS

INCOMPLETE: dict[str, StopReason] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "content_filter",
}


class ResponsesAccumulator:
    """Keeps each item as its ``response.output_item.done`` brought it.

    ``encrypted_content`` differs between the events of one item and only that
    of ``done`` is sure to be accepted back. Words that no item has in the end, though they
    were shown, are kept as a message. ``fault`` makes the ProviderError of an error object
    inside the stream.
    """

    def __init__(self, fault: Callable[[object], ProviderError]) -> None:
        self._fault = fault
        self._done: dict[int, JsonObject] = {}
        self._begun: dict[int, JsonObject] = {}
        self._words = defaultdict[int, TextBuffer](TextBuffer)
        self._thoughts = defaultdict[int, TextBuffer](TextBuffer)
        self._ids: dict[int, str] = {}
        self._places: dict[str, int] = {}
        """The place of each item by its id: imitators leave the index out."""
        self._latest: JsonObject = {}
        self._counts = False
        """Whether events are numbered; some servers give each the same number."""
        self._taken = Counter[str]()
        self._response: JsonObject | None = None

    @property
    def complete(self) -> bool:
        return self._response is not None

    def feed(self, event: JsonObject) -> Iterable[Delta]:
        if error := event.get("error"):
            raise self._fault(error)
        if self._response is not None or self._is_repeat(event):
            return
        place = self._place(event)
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                if new := self._words[place].add(as_text(event.get("delta"))):
                    yield TextDelta(new)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                if new := self._thoughts[place].add(as_text(event.get("delta"))):
                    yield ReasoningDelta(new)
            case "response.reasoning_summary_part.added":
                if event.get("summary_index"):
                    yield ReasoningDelta("\n\n")
            case "response.output_item.added":
                yield from self._added(place, event.get("item"))
            case "response.output_item.done":
                yield from self._finished(place, event.get("item"))
            case "response.completed" | "response.incomplete":
                yield from self._ended(event.get("response"))
            case "response.failed":
                response = event.get("response")
                error = response.get("error") if isinstance(response, dict) else None
                raise self._fault(error or {"message": "The provider could not answer."})
            case "error":
                raise self._fault(event)
            case _:
                return

    def _is_repeat(self, event: JsonObject) -> bool:
        """Whether the event with the highest number so far came once more."""
        number, last = event.get("sequence_number"), self._latest.get("sequence_number")
        if not isinstance(number, int):
            return False
        if not isinstance(last, int) or number > last:
            self._counts = isinstance(last, int)
            self._latest = event
            return False
        return self._counts and event == self._latest

    def _place(self, event: JsonObject) -> int:
        index = event.get("output_index")
        item_id = as_text(event.get("item_id")) or as_text(as_object(event.get("item")).get("id"))
        if isinstance(index, int):
            if item_id:
                self._places.setdefault(item_id, index)
            return index
        if item_id in self._places:
            return self._places[item_id]
        last = max(self._begun, default=-1)
        return self._places.setdefault(item_id, last + 1) if item_id else max(last, 0)

    def _added(self, place: int, item: Json) -> Iterable[Delta]:
        if not isinstance(item, dict) or place in self._begun:
            return
        self._begun[place] = item
        if item.get("type") in CALLS:
            wanted = plain_id(as_text(item.get("call_id"))) or "call"
            self._ids[place] = call_id = self._unused(wanted)
            yield CallStarted(call_id, plain_name(as_text(item.get("name"))))

    def _unused(self, wanted: str) -> str:
        """Imitators of this API may give one id to two calls of a reply."""
        call_id = wanted
        while call_id in self._taken:
            self._taken[wanted] += 1
            call_id = f"{wanted}_{self._taken[wanted]}"
        self._taken[call_id] = 1
        return call_id

    def _finished(self, place: int, item: Json) -> Iterable[Delta]:
        if not isinstance(item, dict) or place in self._done:
            return
        yield from self._added(place, item)
        if place in self._ids:
            name = plain_name(as_text(item.get("name")))
            item = {**item, "call_id": self._ids[place], "name": name}
        self._done[place] = item
        shown, text = self._words[place], said(item) if item.get("type") == "message" else ""
        if text.startswith(shown.text) and (new := shown.add(text[len(shown.text) :])):
            yield TextDelta(new)

    def _ended(self, response: Json) -> Iterable[Delta]:
        response = response if isinstance(response, dict) else {}
        output = response.get("output")
        known = {as_text(one.get("id")) for one in self._done.values()}
        for place, item in enumerate(output if isinstance(output, list) else []):
            if not isinstance(item, dict) or place in self._done:
                continue
            # Only where the item's own end never came: its id is the same.
            if (identifier := as_text(item.get("id"))) not in known or not identifier:
                known.add(identifier)
                yield from self._finished(place, item)
        self._response = response

    def reply(self) -> Reply:
        assert self._response is not None
        items = self._items()
        calls = calls_of(items)
        stop: StopReason = "tool_use" if calls else "end"
        detail = ""
        status = as_text(self._response.get("status"))
        if status not in ("completed", ""):
            reason = as_text(as_object(self._response.get("incomplete_details")).get("reason"))
            stop, detail = INCOMPLETE.get(reason, "other"), reason or status
        elif not calls and any(_refused(item) for item in items):
            stop = "refusal"
        return Reply(items, calls, stop, self._usage(), detail)

    def interrupted(self) -> Reply:
        items = self._items()
        return Reply(items, calls_of(items), "other", self._usage())

    def _items(self) -> list[JsonObject]:
        slots: list[JsonObject | None] = []
        for place in sorted({*self._begun, *self._done, *self._words}):
            item = self._done.get(place)
            kept = None if item is None or _cut(item) else item
            words = self._words[place].text
            slots.append(kept)
            if words.strip() and (kept is None or kept.get("type") != "message"):
                slots.append({"type": "message", "role": "assistant", "content": words})
        return acceptable(slots)

    def _usage(self) -> Usage:
        usage = as_object((self._response or {}).get("usage"))
        sent = as_object(usage.get("input_tokens_details"))
        given = as_object(usage.get("output_tokens_details"))
        return Usage(
            input=as_count(usage.get("input_tokens")),
            cache_read=as_count(sent.get("cached_tokens")),
            cache_write=as_count(sent.get("cache_write_tokens")),
            output=as_count(usage.get("output_tokens")),
            reasoning=as_count(given.get("reasoning_tokens")),
        )


def acceptable(slots: Sequence[JsonObject | None]) -> list[JsonObject]:
    """The items without those that may not be sent; None marks an item that was left out.

    A reasoning item is refused without the item that followed it, so it goes
    where that one goes. What else it led to is refused without it as long as it
    has its id.
    """
    followed: list[bool] = []
    follows = False
    for item in reversed(slots):
        followed.append(follows)
        if item is None or item.get("type") != "reasoning":
            follows = item is not None
    kept: list[JsonObject] = []
    lost = False
    for item, leads_on in zip(slots, reversed(followed), strict=True):
        if item is None:
            continue
        if item.get("type") == "reasoning":
            lost = not leads_on
            if not lost:
                kept.append(item)
        else:
            kept.append({key: item[key] for key in item if key != "id"} if lost else item)
    return kept


def calls_of(items: Iterable[JsonObject]) -> list[ToolCall]:
    """The calls of functions and of custom tools among items, in order."""
    return [_call(item) for item in items if item.get("type") in CALLS]


def _call(item: JsonObject) -> ToolCall:
    call_id, name = as_text(item.get("call_id")), as_text(item.get("name"))
    if item.get("type") == "custom_tool_call":
        text = as_text(item.get("input"))
        return ToolCall(call_id, name, {TEXT_INPUT: text}, text, as_text=True)
    raw = as_text(item.get("arguments"))
    return ToolCall(call_id, name, parse_arguments(raw), raw)


def said(item: JsonObject) -> str:
    """The words of a message item, a refusal's included."""
    parts = as_objects(item.get("content"))
    return "".join(as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts)


def _cut(item: JsonObject) -> bool:
    """Whether the item was left unfinished in a way that is refused later."""
    if item.get("type") == "message":
        return not said(item)
    return item.get("type") in CALLS and item.get("status") in ("incomplete", "in_progress")


def _refused(item: JsonObject) -> bool:
    return any(part.get("type") == "refusal" for part in as_objects(item.get("content")))
