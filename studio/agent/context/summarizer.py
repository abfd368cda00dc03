"""The summarizer: has the model summarise the beginning of a conversation (L-10).

The request is separate from the conversation: it has its own instructions and no
tools, and the messages to summarise are text in it. So the model cannot act on
them, and nothing that a provider binds to a history breaks. If the request fails,
each exchange becomes one line, without a model.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import field

from studio.agent.prompts import SUMMARY_REQUEST, SUMMARY_SYSTEM
from studio.agent.request_gate import OpenGate, OpenToAll
from studio.agent.request_meter import RequestMeter
from studio.agent.retry_policy import RetryPolicy
from studio.domain.errors import ProviderError
from studio.domain.events import Event, Notice, StepEnded, TextDelta
from studio.domain.messages import File, Image, Message, Text, ToolCall, ToolResult
from studio.domain.models import ModelInfo
from studio.domain.records import dataclass
from studio.providers.base import Provider, Reply, Request

from .token_count import tokens_of_request

SUMMARY_FAILED = (
    "The summary could not be written ({why}). Each of the earlier exchanges was shortened to a "
    "line instead."
)
CLIP_LENGTHS = (4_000, 1_200, 300, 80)
"""Characters that are kept of each text; shorter ones are tried for long conversations."""
MAX_LINE = 160
MAX_LINES = 200
_MIN_CHARACTERS = 20  # characters of a summary that says something
_STOPS = ("end", "max_tokens", "other")


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The model of a turn: its provider, and what a request to it may use."""

    provider: Provider
    model: str
    facts: ModelInfo | None
    session_id: str
    meter: RequestMeter
    retry_policy: RetryPolicy
    gate: OpenGate = field(default_factory=OpenToAll)
    """The only way to the provider (KZ-7)."""


class SummaryWriter:
    """Writes one summary, in the given step of a turn."""

    def __init__(self, access: ModelAccess, step: int, emit: Callable[[Event], None]) -> None:
        self._access = access
        self._step = step
        self._emit = emit

    async def write(
        self, messages: Sequence[Message], earlier: str, *, characters: int, words: int
    ) -> str:
        """Summarise these messages and the ``earlier`` summary.

        ``characters`` is how much the model can read, ``words`` the longest summary to
        request. Raises OverBudget; after any other failure it returns one line an exchange.
        """
        text = await asyncio.to_thread(_rendered, messages, earlier, characters)
        prompt = SUMMARY_REQUEST.format(conversation=text, words=words)
        access = self._access
        request = Request(
            access.model,
            access.provider.user_items([Text(prompt)]),
            SUMMARY_SYSTEM,
            facts=access.facts,
            effort="low",
            session=access.session_id,
        )
        try:
            return await self._asked(request)
        except ProviderError as error:
            self._emit(Notice(SUMMARY_FAILED.format(why=str(error).rstrip("."))))
            return summarize_in_lines(messages, earlier)

    async def _asked(self, request: Request) -> str:
        access = self._access
        tokens = await asyncio.to_thread(tokens_of_request, request)
        reservation = await access.meter.reserve(tokens, request)
        request = reservation.bounded(request)
        try:
            stream = await access.gate.stream(access.provider, request, "summary")
        except ProviderError:
            reservation.settle()
            raise
        began, words = time.monotonic(), list[str]()
        reply = Reply()
        try:
            async with asyncio.timeout(access.retry_policy.limit) as timer:
                async for delta in stream:
                    timer.reschedule(asyncio.get_running_loop().time() + access.retry_policy.limit)
                    if isinstance(delta, TextDelta):
                        words.append(delta.text)
            reply = stream.reply()
        except TimeoutError as error:
            name = access.provider.name
            raise ProviderError("network", "The model stopped answering.", provider=name) from error
        finally:
            reply = reply if reply.usage.total else stream.interrupted()
            await stream.aclose()
            if reply.usage.total:
                await access.meter.settle(reservation, reply.usage, reply.cost)
                seconds = time.monotonic() - began
                self._emit(
                    StepEnded(
                        self._step,
                        reply.stop,
                        reply.usage,
                        seconds,
                        cost=reply.cost,
                        beside=True,
                    )
                )
            reservation.settle()
        text = "".join(words).strip()
        if reply.stop not in _STOPS or len(text) < _MIN_CHARACTERS:
            why = "the model did not write one"
            raise ProviderError("refused", why, provider=access.provider.name)
        return text


def summarize_in_lines(messages: Sequence[Message], earlier: str = "") -> str:
    """One line for each message: what the person said, what the agent called and said."""
    lines = earlier.splitlines()
    for message in messages:
        said = [_words(block) for block in message.blocks if isinstance(block, Text | File | Image)]
        calls = [block.name for block in message.blocks if isinstance(block, ToolCall)]
        results = any(isinstance(block, ToolResult) for block in message.blocks)
        if message.role == "user" and not results:
            lines.append(f"The person: {_line(' '.join(said))}")
        elif lines or message.role == "assistant":
            parts = [f"called {', '.join(calls)}"] if calls else []
            parts += [f"said: {_line(' '.join(said))}"] if any(said) else []
            if parts:
                lines.append(f"The agent {', and '.join(parts)}")
    left_out = len(lines) - MAX_LINES
    first = [f"({left_out} earlier lines are left out.)"] if left_out > 0 else []
    return "\n".join([*first, *lines[-MAX_LINES:]])


def _rendered(messages: Sequence[Message], earlier: str, characters: int) -> str:
    """The conversation as text of at most ``characters``."""
    text = ""
    before = [f"Summary of what came before:\n{earlier}"] if earlier else []
    for most in CLIP_LENGTHS:
        parts = (part for message in messages for part in _parts(message, most))
        text = "\n\n".join([*before, *parts])
        if len(text) <= characters:
            return text
    half = max(characters // 2, 1)
    return f"{text[:half]}\n\n(The middle is left out.)\n\n{text[-half:]}"


def _parts(message: Message, most: int) -> list[str]:
    who = "Person" if message.role == "user" else "Agent"
    parts: list[str] = []
    for block in message.blocks:
        match block:
            case ToolCall():
                arguments = json.dumps(block.arguments or block.raw, ensure_ascii=False)
                parts.append(f"Agent calls {block.name}: {_clipped(arguments, most)}")
            case ToolResult():
                how = "fails" if block.is_error else "returns"
                parts.append(f"{block.name} {how}: {_clipped(block.text, most)}")
            case Text() | File() | Image():
                if words := _words(block):
                    # What was said weighs more than what was read.
                    parts.append(f"{who}: {_clipped(words, 4 * most)}")
            case _:
                pass
    return parts


def _words(block: Text | File | Image) -> str:
    match block:
        case Text():
            return block.text.strip()
        case File():
            return f"(a file: {block.name})"
        case Image():
            return "(a picture)"


def _clipped(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]} (…) {text[-most // 3 :]}"


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_LINE else words[: MAX_LINE - 1] + "…"
