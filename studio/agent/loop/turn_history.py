"""The native history as one turn writes it: messages, notes and results in the provider's form.

Every call that is appended is followed by its result, whatever happens (H-3, H-5).
"""

from __future__ import annotations

from collections.abc import Sequence

from studio.agent.attachments import readable
from studio.agent.context.summarizer import ModelAccess
from studio.agent.session.native_history import NativeHistory
from studio.domain.events import Told
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Said, Text, ToolCall, ToolResult
from studio.providers.base import Reply

from .prompts import RESUME


class TurnHistory:
    """Appends to a history what one turn says, tells and does."""

    def __init__(self, history: NativeHistory, access: ModelAccess) -> None:
        self._history = history
        self._provider = access.provider
        self._model = access.model
        self._facts = access.facts

    @property
    def empty(self) -> bool:
        return not self._history.items

    def words(self, said: Sequence[Said]) -> list[JsonObject]:
        """The person's words as items; what this model cannot read is replaced by a note."""
        blocks = [readable(block, self._provider, self._facts) for block in said]
        return self._provider.user_items(blocks)

    async def add(self, items: Sequence[JsonObject]) -> None:
        await self._history.append(items)

    async def tell(self, told: Told) -> None:
        """Information for the model beside the conversation (H-6)."""
        await self._history.append(self._provider.system_items(told.text, self._model))

    async def resume(self) -> list[Told]:
        """Ask for more if the history ends with the model's own words: some providers refuse that.

        Returns what the model was told.
        """
        if not self._history.items or not _is_reply(self._history.items[-1]):
            return []
        told = Told("resume", RESUME)
        await self.tell(told)
        return [told]

    async def add_results(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult | None], missing: str
    ) -> list[ToolResult]:
        """The results of a reply's calls, in call order; ``missing`` for those without one."""
        whole = [
            result or _failed(call, missing) for call, result in zip(calls, results, strict=True)
        ]
        await self._history.append(self._provider.result_items(whole))
        return whole

    async def add_unrun(self, reply: Reply, why: str) -> None:
        """A reply whose calls do not run, together with an error for each of them."""
        items = [*reply.items]
        if reply.calls:
            items += self._provider.result_items([_failed(call, why) for call in reply.calls])
        if items:
            await self._history.append(items)


def _failed(call: ToolCall, why: str) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(why),), is_error=True)


def _is_reply(item: JsonObject) -> bool:
    return item.get("role") in ("assistant", "model")
