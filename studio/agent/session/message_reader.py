"""Message reader: masks what the person says, and finds the agent, skill or command that it calls.

That is done before the turn of the message is built.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from studio.agent.permission.content_filter import ContentFilter
from studio.agent.services import Services, chat_of
from studio.domain.agents import addressed
from studio.domain.blocks import UserBlock
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.messages import Said, Text

from .chat_hooks import ChatHooks
from .invocation import CALLS, Invocation, invoke
from .session_state import SessionState


class MessageReader:
    """Reads the messages of one session; ``content_filter`` is that of its turns."""

    def __init__(
        self,
        session: SessionState,
        services: Services,
        content_filter: ContentFilter,
        hooks: ChatHooks,
    ) -> None:
        self._session = session
        self._services = services
        self._filter = content_filter
        self._hooks = hooks

    async def mask_words(self, said: tuple[Said, ...], agent: str = "") -> tuple[Said, ...]:
        """What the person says as it is kept and sent (T-9).

        ``agent`` answers this turn in place of the session's, whose model gets it later.
        Raises ConfigurationError if it cannot be masked, so that it stays unsaid.
        """
        if not said or not self._services.settings.values.mask_own:
            return said
        self._filter.own = True
        self._filter.kinds = await self._services.masks(self._session.info, agent)
        return await asyncio.to_thread(self.mask_queued, said)

    def mask_queued(self, said: tuple[Said, ...]) -> tuple[Said, ...]:
        """The same with the masks of the last turn, at once: for what is said while it runs."""
        try:
            return self._filter.mask_words(said)
        except ToolFailed as failure:
            raise ConfigurationError(str(failure)) from failure

    async def agent_named_by(self, said: Sequence[Said]) -> str:
        """The agent that these words are for, or the last words of the person if these are none."""
        text = UserBlock("", tuple(said)).text
        if not said:
            blocks = reversed(self._session.transcript.blocks)
            of_person = (one for one in blocks if isinstance(one, UserBlock) and not one.by_agent)
            text = next((one.text for one in of_person if not one.steered), "")
        if not text.startswith("@"):
            return ""
        agents = await self._services.agents(Path(self._session.info.folder))
        return addressed(text, agents.by_name)

    async def invocation(self, said: tuple[Said, ...]) -> Invocation:
        """The message, with the skill or command that it calls filled in (K-5, K-7).

        Raises ConfigurationError for one that cannot be.
        """
        if not any(isinstance(one, Text) and CALLS.match(one.text) for one in said):
            return Invocation(said)
        self._hooks.taken_reading()  # a server may take its time: the rules are read again then
        services, info = self._services, self._session.info
        folder, chat = Path(info.folder), chat_of(info)

        async def prompt(name: str, text: str) -> tuple[Said, ...]:
            entries = await services.server_entries(folder, chat)
            return await services.offers.fill_in(entries, name, text, folder)

        return await invoke(said, await services.extensions(folder, chat), folder, prompt)
