"""Request policy: lets a pack say which providers may see what a chat is about (KZ-7)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

from .home import Home

Purpose: TypeAlias = Literal["turn", "summary", "title", "routing", "server", "look", "call"]
"""What a request is for. Those of agents that another one started are for their turns; one for a
``server`` is what an MCP server wants answered, once the person has agreed. With ``look`` nothing
is sent: the person looks at what would be. A ``call`` is that of a tool that can send data out."""
PLACEHOLDER = 60
"""The most characters of a placeholder, with its brackets."""


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """A request that is about to be sent. ``address`` is empty for the provider's own, and
    where the server there only passes it on; ``local``: it leaves this computer for nowhere.
    ``subject`` is what the chat is about, ``agent`` the one that asks. Of a call, ``provider`` is
    the tool, and ``address`` the one that it goes to, where that is known."""

    provider: str
    model: str
    address: str
    local: bool
    purpose: Purpose
    subject: str
    agent: str = ""
    words: str = ""
    """All that was said to the agent so far, or what a call has as its arguments."""


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
    """What a policy says of a request. ``refused`` is the reason, for the person.

    ``asks`` is why the person is asked first; what nobody can answer is not sent. A call has no
    mask.
    """

    refused: str = ""
    mask: Mask | None = None
    asks: str = ""


ALLOWED = Verdict()


class RequestPolicy(ABC):
    """Is asked before each request, also those for titles, summaries, routing and servers.

    It can only narrow: where the packs do not agree, the request is refused, or masked by all.
    """

    @abstractmethod
    def ask(self, request: AskedRequest, home: Home) -> Verdict:
        """May block. A request whose policy fails is not sent."""
