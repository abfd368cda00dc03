"""Cluster lines: open connections of ``distributed``, and carry messages as JSON.

There is no connection without TLS, nor without a certificate on both sides. The handshake of
``distributed`` is left out, because it would unpickle what the other side sends.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, cast

from studio.domain.errors import ConfigurationError
from studio.domain.extras import how_to_install
from studio.domain.jsonvalue import JsonObject
from studio.domain.records import dataclass

COORDINATOR = "coordinator"
"""The name in the coordinator's certificate."""
WORKER = "worker "
"""What the name in a worker's certificate begins with."""
MOST = 64 << 20
"""Bytes of a message."""
_HEADER = 8


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate with its key, and the authority of the other side; all as PEM."""

    authority: str
    certificate: str
    key: str


class LineClosed(Exception):
    """The other side is gone, or sent what is no message."""


class Line:
    """Messages to and from one other side.

    ``peer`` is the name in its certificate, and ``number`` the one of that. Where nothing can be
    sent any more, what had come before can still be read.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        certificate: Any = comm.extra_info["peercert"]
        subject: Any = certificate["subject"]
        self.number = str(certificate["serialNumber"]).lstrip("0")
        self.peer = "".join(str(value) for ((name, value),) in subject if name == "commonName")
        self.address = str(comm.peer_address).removeprefix("tls://")
        self._sends = True
        self._send: Callable[[Any], int] = comm.stream.write_to_fd
        comm.stream.write_to_fd = self._send_some

    @property
    def closed(self) -> bool:
        """Whether nothing can be sent."""
        return self._comm.stream is None or not self._sends

    async def read(self) -> JsonObject:
        """The next message; raises LineClosed."""
        stream = self._comm.stream
        if stream is None:
            raise LineClosed
        try:
            size = int.from_bytes(await stream.read_bytes(_HEADER))
            if size > MOST:
                raise ValueError("too long")
            message: Any = json.loads(await stream.read_bytes(size))
            if not isinstance(message, dict):
                raise ValueError("no object")
        except (OSError, ValueError, RecursionError) as error:
            self.close()
            raise LineClosed from error
        return cast("JsonObject", message)

    async def write(self, data: bytes) -> None:
        """Send a message that ``encode`` made; raises LineClosed."""
        if self.closed:
            raise LineClosed
        try:
            await self._comm.stream.write(len(data).to_bytes(_HEADER) + data)
        except OSError as error:
            self._sends = False
            raise LineClosed from error
        if not self._sends:
            raise LineClosed

    def _send_some(self, data: Any) -> int:
        """Send a part of what is to be sent, and return how much; all, where nothing arrives.

        After an error the stream would close the socket, with all that was received and not read.
        The end of the line is read after that.
        """
        try:
            return self._send(data)
        except BlockingIOError:
            raise
        except OSError:
            self._sends = False
            return len(data)

    def close(self) -> None:
        self._comm.abort()


def encode(message: JsonObject) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


async def connect(address: str, identity: Identity) -> Line:
    """Connect to the coordinator; raises OSError, and ConfigurationError for another one's."""
    core: Any = _distributed("distributed.comm.core")
    tcp: Any = _distributed("distributed.comm.tcp")
    context = _context(identity, "connection")
    try:
        return Line(await tcp.TLSConnector().connect(address, ssl_context=context))
    except core.FatalCommClosedError as error:
        raise ConfigurationError(
            f"{address} has no certificate of the cluster’s authority. Ask for a new invitation."
        ) from error


async def listen(address: str, identity: Identity, heard: Callable[[Line], Awaitable[None]]) -> Any:
    """Take connections; returns the listener of ``distributed``. Raises OSError."""
    tcp: Any = _distributed("distributed.comm.tcp")

    async def take(comm: Any) -> None:
        await heard(Line(comm))

    async def no_handshake(comm: Any) -> None:
        """Nothing is read before ``Line`` reads it."""

    listener: Any = tcp.TLSListener(address, take, ssl_context=_context(identity, "listen"))
    listener.on_connection = no_handshake
    await listener.start()
    return listener


def _context(identity: Identity, purpose: str) -> ssl.SSLContext:
    security: Any = _distributed("distributed.security").Security(
        require_encryption=True,
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        tls_ca_file=identity.authority,
        tls_worker_cert=identity.certificate,
        tls_worker_key=identity.key,
    )
    context = getattr(security, f"get_{purpose}_args")("worker")["ssl_context"]
    if not isinstance(context, ssl.SSLContext) or context.verify_mode != ssl.CERT_REQUIRED:
        raise ConfigurationError("The cluster does not start without TLS on both sides.")
    return context


def _distributed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigurationError(
            f"A cluster needs the extra “cluster”: {how_to_install('cluster')}"
        ) from error
