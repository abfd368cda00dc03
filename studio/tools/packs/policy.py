"""Request policy: lets a pack say which providers may see what a chat is about (KZ-7)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

from .home import Home

Purpose: TypeAlias = Literal["turn", "summary", "title", "routing", "server", "look"]
"""What a request is for. Those of agents that another one started are for their turns; one for a
``server`` is what an MCP server wants answered, once the person has agreed. With ``look`` nothing
is sent: the person looks at what would be."""
PLACEHOLDER = 60
"""The most characters of a placeholder, with its brackets."""


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """A request that is about to be sent. ``address`` is empty for the provider's own, and
    where the server there only passes it on; ``local``: it leaves this computer for nowhere.
    ``subject`` is what the chat is about."""

    provider: str
    model: str
    address: str
    local: bool
    purpose: Purpose
    subject: str


class Mask(ABC):
    """Hides words from a provider, and shows them again in what it answers.

    Each placeholder is in square brackets and has at most ``PLACEHOLDER`` characters. The same
    words are always hidden alike, and what is hidden stays as it is when it is hidden again.
    """

    hides = True
    """False for a mask that only shows what was hidden earlier: pictures are sent then."""

    @abstractmethod
    def hide(self, text: str) -> str: ...

    @abstractmethod
    def show(self, text: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says of a request. ``refused`` is the reason, for the person."""

    refused: str = ""
    mask: Mask | None = None


ALLOWED = Verdict()


class RequestPolicy(ABC):
    """Is asked before each request, also those for titles, summaries, routing and servers.

    It can only narrow: where the packs do not agree, the request is refused, or masked by all.
    """

    @abstractmethod
    def ask(self, request: AskedRequest, home: Home) -> Verdict:
        """May block. A request whose policy fails is not sent."""
