"""Server sampling: has the chat's model answer what a server asks it, if the person says so (M-20).

The request is separate from the conversation and has no tools: the model reads what the person
was shown, and nothing else. It goes through the gate of the packs' policies and counts towards the
caps of the turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from studio.agent.context.summarizer import ModelAccess
from studio.agent.context.token_count import tokens_of_request
from studio.domain.errors import StudioError, ToolFailed
from studio.domain.events import Event, StepEnded, TextDelta
from studio.domain.messages import Message, Text
from studio.domain.questions import AskForm, Prompt, ServerAnswer, ServerQuestion
from studio.domain.records import dataclass
from studio.providers.base import Reply, Request


@dataclass(frozen=True, slots=True)
class ServerSampling:
    """Answers for one turn. ``steps`` counts the chat's; ``mask`` hides personal data (T-9)."""

    model: ModelAccess
    steps: Callable[[], int]
    mask: Callable[[str], str]

    async def answer(
        self, question: ServerQuestion, ask: AskForm, emit: Callable[[Event], None]
    ) -> ServerAnswer:
        """Ask the person by ``ask``, and then the model; raises ToolFailed.

        ``emit`` is told what it used.
        """
        assert question.prompt is not None
        prompt = await asyncio.to_thread(self._masked, question.prompt)
        facts = self.model.facts
        name = facts.title if facts is not None and facts.title else self.model.model
        shown = replace(question, message=prompt.text, model=name, prompt=None)
        said = await ask(shown)
        if said.action != "accept":
            return said
        try:
            text, reply = await self._answered(prompt, emit)
        except StudioError as error:
            raise ToolFailed(f"The model could not answer {question.server}: {error}") from error
        content = {"text": text, "model": self.model.model, "stop": reply.stop}
        return ServerAnswer("accept", {**content})

    def _masked(self, prompt: Prompt) -> Prompt:
        messages = tuple((role, self.mask(words)) for role, words in prompt.messages)
        return replace(prompt, messages=messages, system=self.mask(prompt.system))

    async def _answered(self, prompt: Prompt, emit: Callable[[Event], None]) -> tuple[str, Reply]:
        access = self.model
        messages = [
            Message("assistant" if role == "assistant" else "user", (Text(words),))
            for role, words in prompt.messages
        ]
        request = Request(
            access.model,
            access.provider.rebuild(messages, access.facts),
            prompt.system,
            output_limit=prompt.tokens,
            facts=access.facts,
            temperature=prompt.temperature,
            session=access.session_id,
            stop=prompt.stop,
        )
        tokens = await asyncio.to_thread(tokens_of_request, request)
        reservation = await access.meter.reserve(tokens, request)
        began, words, reply = time.monotonic(), list[str](), Reply()
        try:
            stream = await access.gate.stream(
                access.provider, reservation.bounded(request), "server"
            )
            try:
                async with asyncio.timeout(access.retry_policy.limit) as timer:
                    async for delta in stream:
                        now = asyncio.get_running_loop().time()
                        timer.reschedule(now + access.retry_policy.limit)
                        if isinstance(delta, TextDelta):
                            words.append(delta.text)
                reply = stream.reply()
            except TimeoutError:
                raise ToolFailed("It stopped answering.") from None
            finally:
                reply = reply if reply.usage.total else stream.interrupted()
                await stream.aclose()
                if reply.usage.total:
                    await access.meter.settle(reservation, reply.usage, reply.cost)
                    seconds, cost = time.monotonic() - began, reply.cost
                    emit(
                        StepEnded(
                            self.steps(), reply.stop, reply.usage, seconds, cost=cost, beside=True
                        )
                    )
        finally:
            reservation.settle()
        return "".join(words), reply
