"""Errors: one tree, split by whether a model or a person reads them.

``ToolFailed`` goes to the model. ``ProviderError``, ``StorageError`` and
``ConfigurationError`` go to the person: their text says what happened and what
to do. Reaching a limit is no error but a ``TurnComplete`` reason.
"""

from __future__ import annotations

from typing import Literal, TypeAlias


class StudioError(Exception):
    """Anything this program raises on purpose; ``str()`` is fit to be shown."""


class ToolFailed(StudioError):
    """A tool could not do its work; the model reads why and goes on (L-5)."""


class ConfigurationError(StudioError):
    """Something the person set up is missing or wrong: a key, a folder, an agent."""


class FolderGone(ConfigurationError):
    """The folder that a session works in is not there any more."""


class StorageError(StudioError):
    """The database or a settings file cannot be used; nothing was overwritten."""


ProviderFault: TypeAlias = Literal[
    "no_key",
    "bad_key",
    "forbidden",
    "not_found",
    "rate_limited",
    "overloaded",
    "too_long",
    "refused",
    "bad_request",
    "bad_history",
    "no_credit",
    "network",
    "server",
    "protocol",
]
"""L-12. ``protocol``: what came back is not what this provider's API says,
an HTML page or a stream that ended early, for example. ``bad_history``: the
native history is rejected and would be for ever; one begun anew from the
transcript is the way out (H-5)."""

RETRYABLE: frozenset[ProviderFault] = frozenset({"rate_limited", "overloaded", "network", "server"})


class ProviderError(StudioError):
    """A request to a provider failed.

    ``status`` is the HTTP status where there was one; ``retry_after`` the wait
    the server asked for, in seconds. The text never holds a key.
    """

    def __init__(
        self,
        fault: ProviderFault,
        message: str,
        *,
        provider: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.fault: ProviderFault = fault
        self.provider = provider
        self.status = status
        self.retry_after = retry_after
