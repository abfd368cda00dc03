"""Signatures of reasoning: the simulator recognises what it sent, byte for byte.

Nothing is remembered: a signature holds all that is needed to check it, so a
session outlives the process that signed it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

from .wire import canonical

_SIZE = 32


class Signer:
    """Signs a payload alone and together with what came before it."""

    def __init__(self, key: bytes = b"agent studio simulator") -> None:
        self._key = key

    def _mac(self, *parts: str) -> bytes:
        return hmac.new(self._key, "\0".join(parts).encode(), hashlib.sha256).digest()

    def sign(self, payload: Any, prefix: Any = None, *, stage: str = "") -> str:
        """Base64 of three digests: of the payload, of payload and prefix, and of those two.

        ``stage`` makes strings differ that mean the same.
        """
        own = self._mac("own", canonical(payload))
        bound = self._mac("bound", canonical(payload), canonical(prefix))
        return base64.b64encode(own + bound + self._seal(own + bound) + stage.encode()).decode()

    def _seal(self, digests: bytes) -> bytes:
        return hmac.new(self._key, digests, hashlib.sha256).digest()

    def made(self, signature: str | bytes) -> bool:
        """Whether the signature was made here, whatever it is on."""
        raw = decode(signature)
        return hmac.compare_digest(raw[2 * _SIZE : 3 * _SIZE], self._seal(raw[: 2 * _SIZE]))

    def verify(self, signature: str | bytes, payload: Any, prefix: Any = None) -> tuple[bool, bool]:
        """Whether the signature fits the payload, and whether it fits the prefix too.

        Takes standard and URL-safe base64 alike.
        """
        raw = decode(signature)
        own = hmac.compare_digest(raw[:_SIZE], self._mac("own", canonical(payload)))
        bound = hmac.compare_digest(
            raw[_SIZE : 2 * _SIZE], self._mac("bound", canonical(payload), canonical(prefix))
        )
        return own, bound

    @staticmethod
    def stage(signature: str) -> str:
        """The stage a signature was made for."""
        return decode(signature)[3 * _SIZE :].decode("latin-1")


def decode(signature: str | bytes) -> bytes:
    """The bytes of a signature in either base64 alphabet; empty if it is none."""
    if isinstance(signature, bytes):
        return signature
    plain = signature.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        return b""
