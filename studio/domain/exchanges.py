"""Exchanges: what went to a provider and what came back, byte for byte and without keys (W-27)."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress

from studio.domain.records import dataclass

WHOLE = ""
STOPPED = "stopped"
"""How an exchange ended: the whole answer came, or nobody read on; else the name of an error."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to a provider and its answer.

    ``url`` has no key and no password. ``status`` is 0 where no answer came. ``body`` is what was
    read of the answer, unpacked; ``end`` is how that ended, see ``STOPPED``. ``digest`` names the
    request.
    """

    method: str
    url: str
    request: bytes
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    end: str = WHOLE

    @property
    def path(self) -> str:
        """Path and query: where it was sent to on whatever host."""
        return path_of(self.url)

    @property
    def digest(self) -> str:
        """Of its very bytes: an adapter writes the same request in the same way."""
        sent = (self.method.encode(), self.path.encode(), self.request)
        return hashlib.sha256(b"\n".join(sent)).hexdigest()


def path_of(url: str) -> str:
    rest = url.partition("://")[2]
    _, slash, path = rest.partition("/")
    return slash + path


def in_order(body: bytes) -> bytes:
    """The same for bodies that mean the same, in whatever order their JSON names things."""
    with suppress(ValueError, RecursionError):  # it has no body, or none of JSON
        return json.dumps(json.loads(body), sort_keys=True).encode()
    return body
