"""Cluster worker: answers requests to models with the keys of its own machine (W-59).

It knows nothing of the run and keeps nothing. Whatever it sends has none of its keys in it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from studio import __version__
from studio.agent.models.provider_factory import ProviderFactory
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.jsonvalue import JsonObject
from studio.domain.redaction import redact, without_keys
from studio.storage.config.keychain import Keychain
from studio.workflows.items.answerer import whole_answer

from .certificates import Invitation
from .lines import Line, LineClosed, connect, encode
from .messages import VERSION, error_message, read_request, reply_message

BEAT = 5.0
"""Seconds between two messages that say that the worker is there."""
LONGEST_WAIT = 15.0
"""Seconds between two attempts to reach the coordinator."""
SILENCE = 120.0
"""Seconds without a word after which a request is given up."""


class Worker:
    """Works for one coordinator. ``say`` gets lines for the person."""

    def __init__(
        self,
        invitation: Invitation,
        providers: ProviderFactory,
        keychain: Keychain,
        say: Callable[[str], None],
    ) -> None:
        self._invitation, self._providers, self._keychain = invitation, providers, keychain
        self._say = say
        self._keys: set[str] = set()
        self._answering: dict[int, asyncio.Task[None]] = {}

    async def work(self, address: str = "") -> None:
        """Work until the coordinator sends it away; come back where the connection broke.

        Raises ConfigurationError where the coordinator does not take it.
        """
        address = address or self._invitation.address
        wait, told = 0.5, False
        while True:
            try:
                line = await connect(address, self._invitation.identity)
            except OSError:
                if not told:
                    self._say(f"There is no coordinator at {address} yet. Waiting for it.")
                told = True
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)
                continue
            wait, told = 0.5, False
            try:
                if await self._serve(line):
                    return
            finally:
                line.close()
            self._say("The coordinator is gone. Waiting for it.")
            await asyncio.sleep(wait)

    async def _serve(self, line: Line) -> bool:
        """Answer what comes; whether the coordinator sent it away."""
        tasks = BackgroundTasks()
        try:
            hello: JsonObject = {"do": "join", "messages": VERSION, "version": __version__}
            await line.write(encode(hello))
            tasks.start(self._beat(line))
            while True:
                message = await line.read()
                match message.get("do"):
                    case "welcome":
                        self._say(f"Joined as {self._invitation.name}. Ctrl+C leaves.")
                    case "refused":
                        raise ConfigurationError(str(message.get("reason")))
                    case "leave":
                        return True
                    case "ask" if isinstance(ticket := message.get("ticket"), int):
                        task = tasks.start(self._answer(line, ticket, message))
                        self._answering[ticket] = task
                    case "cancel":
                        if (task := self._answering.get(int(str(message["ticket"])))) is not None:
                            task.cancel()
                    case _:
                        pass
        except LineClosed:
            return False
        finally:
            tasks.cancel()
            await tasks.settled()

    async def _beat(self, line: Line) -> None:
        with suppress(LineClosed):
            while True:
                load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
                beat: JsonObject = {"do": "beat", "load": load, "cores": os.cpu_count()}
                await line.write(encode(beat))
                await asyncio.sleep(BEAT)

    async def _answer(self, line: Line, ticket: int, message: JsonObject) -> None:
        name = str(message.get("provider"))
        try:
            try:
                request = read_request(message.get("request"))
                provider = await self._providers.provider(name)
                self._keys.add(await self._providers.key(name))
                text, reply = await whole_answer(provider.stream(request), SILENCE, name)
                made = reply_message(text, reply)
            except ProviderError as error:
                made = error_message(error)
            except (ConfigurationError, OSError) as error:
                made = error_message(ProviderError("forbidden", str(error)))
            except Exception as error:
                made = error_message(ProviderError("protocol", f"{type(error).__name__}: {error}"))
            if "reason" in made:
                made["reason"] = redact(str(made["reason"]))
            with suppress(LineClosed):
                await line.write(self._without_keys({**made, "do": "answer", "ticket": ticket}))
        finally:
            self._answering.pop(ticket, None)

    def _without_keys(self, message: JsonObject) -> bytes:
        keys = {*self._keys, *self._keychain.known()}
        return encode(
            cast("JsonObject", without_keys(message, [one for one in keys if len(one) >= 8]))
        )
