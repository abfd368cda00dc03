"""The native history of a session, in memory and on disk: one epoch after the other (H-1, H-9).

An epoch is append-only: no method changes what it holds. It keeps the system prompt
and the tools that it began with; later changes are appended (see ``system_prompt``).
If that is not possible, for another provider or a tool that is new, another epoch
begins, built from the transcript. ``carried_over`` tells the person what that leaves
out (H-7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TypeAlias, cast

from studio.agent.attachments import replace_unreadable
from studio.agent.prompts import CALL_LOST, RESULT_REPEATED, RESUME
from studio.domain.blocks import ToolBlock
from studio.domain.codec import decode, encode
from studio.domain.events import (
    FIRST_TOPICS,
    CallStarted,
    Event,
    HistoryBegun,
    Notice,
    ReasoningDelta,
    RetryScheduled,
    Steered,
    StepEnded,
    StepStarted,
    TextDelta,
    Told,
    TurnStarted,
)
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.ledger import canonical_json, chain_next, chain_start
from studio.domain.messages import File, Image, Message, Reasoning, Said, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo
from studio.domain.records import dataclass
from studio.domain.tools import FIND_TOOLS, USE_TOOL, ToolSpec
from studio.domain.transcript import Conversation
from studio.providers.base import Provider, Reply
from studio.providers.history_rebuild import has_reasoning
from studio.storage.sessions.store import SessionStore, StoredHistory

REPEATED = 400
"""Characters of a result that is not told again; less would save nothing."""
NAMED = 5
"""So many files are named; more would fill the screen."""


def carried_over(
    model: str, messages: Sequence[Message], refuses: Callable[[Said], str], *, thought: bool
) -> str:
    """``Now on gpt-6.1. Everything was carried over except …``

    ``refuses`` says why ``model`` cannot read a picture or a file. ``thought``
    is whether the history before held reasoning: not all of it is shown.
    """
    left_out: list[str] = []
    if thought or any(isinstance(b, Reasoning) for m in messages for b in m.blocks):
        left_out.append("what the earlier model thought")
    if unreadable := _unreadable([one for one in _enclosed(messages) if refuses(one)]):
        left_out.append(f"{_listed(unreadable)} that this model cannot read")
    # With a comma, or it would not be clear what the last words belong to.
    rest = f" except {', and '.join(left_out)}" if left_out else ""
    return f"Now on {model}. Everything was carried over{rest}."


def _enclosed(messages: Sequence[Message]) -> Iterator[Image | File]:
    """Pictures and files of both sides, in order."""
    for message in messages:
        for block in message.blocks:
            if isinstance(block, Image | File):
                yield block
            elif isinstance(block, ToolResult):
                yield from (part for part in block.content if isinstance(part, Image))


def _unreadable(enclosed: Sequence[Image | File]) -> list[str]:
    """``2 pictures``, ``plan.pdf``, ``3 more files``."""
    pictures = sum(isinstance(one, Image) for one in enclosed)
    names = list(dict.fromkeys(one.name for one in enclosed if isinstance(one, File)))
    found = [_counted(pictures, "picture")] if pictures else []
    found += names[:NAMED]
    if len(names) > NAMED:
        found.append(_counted(len(names) - NAMED, "more file"))
    return found


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _listed(things: Sequence[str]) -> str:
    *some, last = things
    return f"{', '.join(some)} and {last}" if some else last


DAMAGED = "The saved history was damaged: {damage}. It was built anew from the conversation."
OTHER_SEARCH = "Who searches the web has changed. The history was built anew with it."
MORE_TOOLS = "There are new tools: {names}. The history was built anew with them."


@dataclass(frozen=True, slots=True)
class HistoryBasis:
    """What the history is sent to, and what a new epoch of it is made of (H-7).

    ``tools`` are the ones that the model is offered. ``conversation`` returns the
    messages of the transcript as they are now, ``facts`` describe the model.
    """

    provider: Provider
    model: str
    system: str
    tools: list[ToolSpec]
    conversation: Callable[[], Conversation]
    facts: ModelInfo | None = None

    def media_problem(self, block: Said) -> str:
        """Why the model cannot read a picture or a file; empty if it can."""
        return self.provider.media_problem(block, self.facts)


_Frame: TypeAlias = tuple[str, str, str, str, str, list[JsonObject]]
"""Session, provider, protocol, model, system prompt and tools of an epoch."""


class NativeHistory:
    """What the next request is made of.

    ``chain`` holds the digests before each item and after the last, see
    ``studio.domain.ledger``: a request's prefix is where the chain ended then.
    """

    def __init__(self, store: SessionStore, session_id: str, *, new: bool = False) -> None:
        self.new = new
        """Whether nothing was ever sent or stored, because the session is new."""
        self.awaits_disk = True
        """Whether what was said is on disk before it is sent, and its answer before the turn ends.

        Otherwise both come with the next write of events, a fifth of a second later at most.
        """
        self.items: list[JsonObject] = []
        self.chain: list[str] = [""]
        self.epoch = 0
        self.why = ""
        self.system = ""
        self.tools: list[ToolSpec] = []
        self._stored_tools: list[JsonObject] = []
        """The same as they are stored."""
        self._store = store
        self._session_id = session_id
        self.unmade: list[tuple[ToolCall, ToolResult | None]] = []
        """The calls at its end, if some are still to be made, with the results of the others."""
        self._whole: set[str] = set()
        """Digests of the results that this epoch has whole, as far as that is known."""
        self._unsaved: list[JsonObject] = []
        self._follows = False
        """Whether items may be on their way to the disk with events."""
        self._unbegun: tuple[_Frame, tuple[JsonObject, ...], str] | None = None
        """The first epoch, its items, and why: it is written together with what is said first."""
        self._missed: list[TurnStarted] = []
        self._saving = asyncio.Lock()
        self._opened: HistoryBasis | None = None

    async def open(
        self,
        basis: HistoryBasis,
        known_epoch: int = 0,
        calls: Sequence[ToolBlock] = (),
        again: Collection[str] = (),
    ) -> list[Event]:
        """Go on with the stored epoch if it fits the basis, else begin one; returns what happened.

        It has everything then that the events tell. ``known_epoch`` is the last that they name.
        ``calls`` are those of the session, in order. Those of the last reply that are to be made
        ``again`` get no result yet: they are ``unmade``.
        """
        self.unmade = []
        if self._missed:
            missed, self._missed = self._missed, []
            await self.hear(missed)
        await self.save()  # what a failing disk left behind
        if self._follows:
            await self._store.flush(self._session_id)
            self._follows = False
        self._opened = basis
        unsent = self.new or self._unbegun is not None
        found = None if unsent else await self._store.native_and_later(self._session_id)
        if found is None:
            self.epoch = 0
            return [await self._begin("", basis)]
        stored, later = found
        self._take(stored)
        if why := await self._misfit(stored, basis):
            return [await self._begin(why, basis), Notice(why)]
        events = await self._repair(calls, later, again)
        if self.epoch == known_epoch:
            return events
        return [HistoryBegun(self.epoch, basis.provider.name, basis.model, self.why), *events]

    @property
    def saved(self) -> bool:
        """Whether all of it is on disk."""
        return not self._unsaved

    @property
    def _basis(self) -> HistoryBasis:
        assert self._opened is not None, "open comes first"
        return self._opened

    async def load(self) -> None:
        """Read what is stored, without opening it for requests."""
        stored = await self._store.native(self._session_id)
        if stored is not None:
            self._take(stored)

    async def append(self, items: Sequence[JsonObject]) -> None:
        """Durable when it returns; a cancelled caller does not undo it.

        Every event of before is stored with it, so a later one tells what it lacks.
        """
        if not items and self.saved:
            return
        self.items.extend(items)
        _lengthen(self.chain, items)
        self._unsaved.extend(items)
        await asyncio.shield(self.save())

    async def append_last(self, items: Sequence[JsonObject]) -> None:
        """Append what the next ``flush`` makes durable, in one write with the events.

        For a reply without calls: nothing is sent or run on the strength of it before.
        """
        if not self._follow(items):
            await self.append(items)

    def _follow(self, items: Sequence[JsonObject]) -> bool:
        """Append what comes to the disk with the events so far; False if none of them waits."""
        if not self.saved or self._saving.locked():
            return False
        if self._unbegun is not None:
            frame, begun, why = self._unbegun
            soon = self._store.begin_epoch_soon
            followed = not self.awaits_disk and soon(*frame, (*begun, *items), why)
        else:
            followed = self._store.append_native_soon(self._session_id, self.epoch, items)
        if followed:
            self._unbegun, self._follows = None, True
            self.items.extend(items)
            _lengthen(self.chain, items)
        return followed

    async def renew(
        self,
        why: str,
        conversation: Conversation | None = None,
        *,
        quiet: bool = False,
    ) -> list[Event]:
        """Begin a new epoch now, of the conversation as it is now, or of another (H-9).

        ``quiet`` where the person sees by other signs what was done.
        """
        basis = self._basis
        await self.save()
        if conversation is not None:
            basis = replace(basis, conversation=lambda: conversation)
        begun = await self._begin(why, basis)
        return [begun] if quiet else [begun, Notice(why)]

    # What a turn appends. Every call is followed by its result, whatever happens (H-3, H-5)

    async def hear(self, news: Sequence[Unheard]) -> None:
        """Append what the person said and what the model was told (H-6), in one write.

        Whatever was said before the last write is in the history: after a crash only later
        words are looked for.
        """
        items = self._items_of(news)
        if self.awaits_disk or not items or not self._follow(items):
            await self.append(items)

    def miss(self, started: TurnStarted) -> None:
        """Note a turn that could not begin while items wait for the disk.

        Their write will count as the end of all that was said: its words have to be in it.
        """
        if self._unsaved and not is_blank(started.said):
            self._missed.append(started)

    async def resume(self) -> list[Told]:
        """Ask for more if the history ends with the model's own words: some providers refuse that.

        Returns what the model was told.
        """
        if not self.items or self.items[-1].get("role") not in ("assistant", "model"):
            return []
        told = Told("resume", RESUME)
        await self.hear([told])
        return [told]

    async def add_results(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult | None], missing: str
    ) -> list[ToolResult]:
        """Append the results of a reply's calls, in call order; ``missing`` where there is none.

        Each goes back under the name that the model called, whichever tool did it.
        """
        every = [
            result or _failed(call, missing) for call, result in zip(calls, results, strict=True)
        ]
        told = [
            replace(self._once(result), name=call.name)
            for call, result in zip(calls, every, strict=True)
        ]
        await self.append(self._basis.provider.result_items(told))
        return every

    def _once(self, result: ToolResult) -> ToolResult:
        """The result, or one line if this epoch has it whole already (C-26)."""
        spec = next((one for one in self.tools if one.name == result.name), None)
        pictures = any(not isinstance(part, Text) for part in result.content)
        text = result.text
        looks = spec is not None and spec.effect == "read" and not result.is_error
        if not looks or pictures or len(text) < REPEATED:
            return result
        if _digest(result) in self._whole:
            head = text.split("\n", 1)[0][:100]
            said = RESULT_REPEATED.format(name=result.name, head=head)
            return replace(result, content=(Text(said),))
        self._whole.add(_digest(result))
        return result

    async def add_unrun(self, reply: Reply, why: str) -> None:
        """Append a reply whose calls do not run, together with an error for each of them."""
        items = [*reply.items]
        if reply.calls:
            failed = [_failed(call, why) for call in reply.calls]
            items += self._basis.provider.result_items(failed)
        if items:
            await self.append(items)

    async def save(self) -> None:
        """Write what is not on disk yet, in order: no result is ever there without its call."""
        async with self._saving:
            batch = tuple(self._unsaved)
            if not batch:
                return
            if self._unbegun is not None:
                frame, items, why = self._unbegun
                await self._store.begin_epoch(*frame, (*items, *batch), why)
                self._unbegun = None
            else:
                await self._store.append_native(self._session_id, self.epoch, batch)
            del self._unsaved[: len(batch)]

    async def flush(self) -> None:
        """Return when all of it is on disk, and every event of the session; or StorageError."""
        await self.save()
        await self._store.flush(self._session_id)
        self._follows = False

    async def _begin(self, why: str, basis: HistoryBasis) -> HistoryBegun:
        provider, (messages, changes) = basis.provider, basis.conversation()
        items, self.unmade = list[JsonObject](), []
        tools = cast("list[JsonObject]", encode(basis.tools))
        chain = [chain_start(basis.system, tools)]
        if messages:
            items = await asyncio.to_thread(provider.rebuild, messages, basis.facts)
            await asyncio.to_thread(_lengthen, chain, items)

        made_by = (provider.name, provider.protocol, basis.model)
        frame = (self._session_id, *made_by, basis.system, tools)
        if self.new or self._unbegun is not None:
            self.new, self.epoch, self._unbegun = False, 1, (frame, tuple(items), why)
        else:
            self.epoch = await self._store.begin_epoch(*frame, items, why)
        self.why, self.system, self.tools, self.items = why, basis.system, basis.tools, items
        self._stored_tools = tools
        self.chain = chain
        self._whole = await asyncio.to_thread(_whole_results, messages) if messages else set()
        return HistoryBegun(self.epoch, provider.name, basis.model, why, changes)

    def _take(self, stored: StoredHistory) -> None:
        if stored.epoch != self.epoch:  # another program may have begun it
            self._whole = set()
        self.epoch, self.why = stored.epoch, stored.why
        self.items, self.chain = stored.items, stored.chain
        self.system = stored.system
        if stored.tools != self._stored_tools:
            self._stored_tools = stored.tools
            tools = decode(tuple[ToolSpec, ...], cast("Json", stored.tools))
            self.tools = list(cast("list[ToolSpec]", tools))

    async def _misfit(self, stored: StoredHistory, basis: HistoryBasis) -> str:
        """Why the stored epoch cannot be gone on with; empty if it can."""
        provider, model = basis.provider, basis.model
        written_by = (stored.provider, stored.protocol, stored.model)
        if written_by != (provider.name, provider.protocol, model):
            messages = basis.conversation().messages
            thought = has_reasoning(stored.items)
            return await asyncio.to_thread(
                carried_over, model, messages, basis.media_problem, thought=thought
            )
        if damage := stored.damage or provider.history_problem(stored.items):
            return DAMAGED.format(damage=damage)
        if {s.name for s in self.tools if s.hosted} != {s.name for s in basis.tools if s.hosted}:
            return OTHER_SEARCH  # nobody here could refuse a call of it
        frozen = {spec.name for spec in self.tools}
        more = [spec.name for spec in basis.tools if spec.name not in frozen and not _waits(spec)]
        return MORE_TOOLS.format(names=", ".join(more)) if more else ""

    async def _repair(
        self, blocks: Sequence[ToolBlock], later: Sequence[Event], again: Collection[str]
    ) -> list[Event]:
        """Append what a program that ended at any moment had not appended yet (H-5).

        The results of the last reply's calls, then what ``later`` events tell that was said after
        it. Returns a notice if the result of a call is not known.
        """
        provider = self._basis.provider
        calls, newest = provider.open_calls(self.items), {one.call_id: one for one in blocks}
        known = {id: one for id, one in newest.items() if one.state in ("done", "error")}
        results = [_result(call, known.get(call.id)) for call in calls]
        said = unheard(later)
        if not said and any(call.id in again for call in calls):
            made = (None if one.call_id in again else one for one in results)
            self.unmade = list(zip(calls, made, strict=True))
            return []
        items = [*provider.result_items(results), *self._items_of(said)]
        if items:  # at once, or a second crash would lose the rest
            await self.append(items)
        lost = sum(call.id not in known for call in calls)
        if not lost:
            return []
        many = "a tool call" if lost == 1 else f"{lost} tool calls"
        return [Notice(f"The last turn ended in the middle of {many}. That was repaired.")]

    def _items_of(self, found: Iterable[Unheard]) -> list[JsonObject]:
        basis = self._basis
        items: list[JsonObject] = []
        before: list[Said] = []
        """A block of its own in the message that follows."""
        for one in found:
            match one:
                case Told(topic) if topic in FIRST_TOPICS:
                    before.append(Text(one.text))
                case TurnStarted() | Steered():
                    said = [
                        replace_unreadable(part, basis.provider, basis.facts) for part in one.said
                    ]
                    items += basis.provider.user_items([*before, *said])
                    before.clear()
                case Told():
                    items += basis.provider.system_items(one.text, basis.model)
                case _:
                    items += basis.provider.spoken_items(one)
        return [*items, *basis.provider.user_items(before)] if before else items


def _waits(spec: ToolSpec) -> bool:
    """Whether a tool that is new waits for the next epoch: servers come and go (M-16)."""
    return bool(spec.server) or spec.name in (FIND_TOOLS, USE_TOOL)


Unheard: TypeAlias = list[Text] | TurnStarted | Steered | Told


def unheard(events: Iterable[Event]) -> list[Unheard]:
    """What ``events``, which came after the history was last stored, have and it has not.

    That is what the model said last, in order with what the person said and what the model
    was told. A reply that ended well, or was given up for another attempt, was stored
    as far as the provider accepts it. One with calls is stored after it ended.
    """
    found: list[Unheard] = []
    said: list[Text] = []
    goes_on = calls = False
    for event in events:
        match event:
            case TextDelta():
                before = said.pop().text if goes_on else ""
                said.append(Text(before + event.text))
                goes_on = True
            case ReasoningDelta():
                goes_on = False
            case CallStarted():
                goes_on, calls = False, True
            case StepEnded() if event.beside or calls:
                pass
            case StepStarted() | StepEnded() | RetryScheduled():
                said.clear()
                goes_on = calls = False
            case Told("resume"):
                pass  # said after it was stored
            case TurnStarted() if is_blank(event.said):
                pass  # a retry
            case TurnStarted() | Steered() | Told():
                found += [_not_blank(said), event]
                said, goes_on, calls = [], False, False
            case _:
                pass
    found.append(_not_blank(said))
    return [one for one in found if one]


def is_blank(said: Sequence[Said]) -> bool:
    """Whether a message has neither words nor anything attached."""
    return all(isinstance(part, Text) and not part.text.strip() for part in said)


def _not_blank(said: list[Text]) -> list[Text]:
    return [words for words in said if words.text.strip()]


def _lengthen(chain: list[str], items: Sequence[JsonObject]) -> None:
    """Add the digest after each item. Takes long for many items, or large ones."""
    for item in items:
        chain.append(chain_next(chain[-1], canonical_json(item)))


def _whole_results(messages: Sequence[Message]) -> set[str]:
    results = [block for m in messages for block in m.blocks if isinstance(block, ToolResult)]
    return {_digest(result) for result in results if not result.is_error}


def _digest(result: ToolResult) -> str:
    return sha256(f"{result.name}\0{result.text}".encode("utf-8", "replace")).hexdigest()


def _failed(call: ToolCall, why: str) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(why),), is_error=True, as_text=call.as_text)


def _result(call: ToolCall, made: ToolBlock | None) -> ToolResult:
    if made is None:
        return _failed(call, CALL_LOST)
    content = (Text(made.output), *made.images)
    failed = made.state == "error"
    return ToolResult(call.id, call.name, content, failed, call.as_text)
