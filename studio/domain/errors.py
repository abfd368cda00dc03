"""Errors: defines one tree of exceptions, split by whether a model or a person reads them.

``ToolFailed`` goes to the model. ``ProviderError``, ``StorageError`` and
``ConfigurationError`` go to the person: their text says what happened and what
to do. A limit that is reached is not an error: ``TurnComplete`` has a reason for it.
"""

from __future__ import annotations

import errno
from typing import Literal, TypeAlias


class StudioError(Exception):
    """Base class of the errors that this program raises; ``str()`` can be shown."""


class ToolFailed(StudioError):
    """A tool could not do its work; the model reads why and goes on (L-5)."""


class NothingRead(ToolFailed):
    """A tool refused before it read or sent anything: its text has words of the call alone."""


class ConfigurationError(StudioError):
    """Something the person set up is missing or wrong: a key, a folder, an agent."""


class FolderGone(ConfigurationError):
    """The folder that a session works in no longer exists."""


class StorageError(StudioError):
    """The database or a settings file cannot be used; nothing was overwritten."""


def is_disk_full(error: OSError) -> bool:
    """Whether nothing more fits on the disk, or into what the person may use of it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


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
"""The kinds of errors of a provider (L-12). ``protocol``: the response does not follow the
provider's API, for example an HTML page or a stream that ended early. ``bad_history``: the
provider rejects the native history and would always reject it; the remedy is a new history
built from the transcript (H-5)."""

RETRYABLE: frozenset[ProviderFault] = frozenset({"rate_limited", "overloaded", "network", "server"})


class ProviderError(StudioError):
    """A request to a provider failed.

    ``status`` is the HTTP status if there was one; ``retry_after`` is the wait that
    the server asks for, in seconds. The text never holds a key.
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
