"""Faults: says why an MCP server cannot be used, or why a call of it failed."""

from __future__ import annotations

import errno
import socket
from typing import Literal, TypeAlias

from studio.domain.errors import ToolFailed

FaultKind: TypeAlias = Literal[
    "off",
    "not_found",
    "refused",
    "variable",
    "exited",
    "silent",
    "protocol",
    "network",
    "certificate",
    "sign_in",
    "rights",
    "client",
    "key",
    "forbidden",
    "address",
    "sandbox",
]
"""Why a server cannot be used. ``off``: it is switched off, or changed since it was approved.
``not_found``: there is no such program. ``refused``: the system does not start it. ``variable``: a
value it needs is missing. ``exited``: it ended, or its connection. ``silent``: it does not answer.
``protocol``: what it says is not MCP. ``sign_in``: the person has to sign in (401). ``rights``:
they have to sign in again, for more than they have. ``client``: they have to register this program
first. ``key``: it does not take the key in its headers, or needs one (401). ``forbidden``: it
refuses (403). ``address``: it has no such address (404). ``sandbox``: it is to run in the sandbox,
and there is none."""


class ServerFailed(ToolFailed):
    """A server cannot be used; ``str()`` can be shown to a person and to a model.

    ``code`` is the exit code of its process, if that ended; ``line`` the last line of its stderr,
    ``said`` what it wrote to stdout that is no message.
    """

    def __init__(
        self,
        kind: FaultKind,
        text: str,
        *,
        code: int | None = None,
        line: str = "",
        said: str = "",
    ) -> None:
        super().__init__(text)
        self.kind: FaultKind = kind
        self.code = code
        self.line = line
        self.said = said


def network_reason(error: BaseException) -> str:
    """Why an address cannot be reached, in a few words: what the libraries say is in English, and
    the cause stands below it."""
    causes = [error]
    for one in causes:  # which grows meanwhile
        match one:
            case ConnectionRefusedError():
                return "nothing answers there"
            case socket.gaierror():
                return "its name is not known here"
            case TimeoutError():
                return "it does not answer in time"
            case OSError(errno=errno.ENETUNREACH | errno.EHOSTUNREACH):
                return "no way leads there from here"
            case BaseExceptionGroup():
                causes += one.exceptions
            case _:
                pass
        if (cause := one.__cause__ or one.__context__) is not None:
            causes.append(cause)
    return str(error).rstrip(".") or type(error).__name__


class GivenUp(ServerFailed):
    """The person gave up signing in."""


class NotSent(ServerFailed):
    """The connection was over before a call reached the server: it may be sent again."""
