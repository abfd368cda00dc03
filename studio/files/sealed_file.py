"""Sealed file: writes and reads a file that nobody reads or changes without its key (KZ-44).

It is encrypted in pieces by AES-256-GCM, with a key of this file alone that is made of the caller's
and of chance by HKDF. Each piece is bound to its place, and the last one says that it is the last:
pieces that are missing, doubled, moved or of another file are noticed.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

_HEAD = b"agent-studio sealed file 1\n"
_SALT = 32
PIECE = 65_536
"""Bytes that are encrypted at once."""
_TAG = 16


class Unsealable(Exception):
    """The file is no sealed one, was changed or cut off, or has another key."""


class SealedWriter:
    """Writes what it is given into ``file``; what was not left in order lacks its last piece."""

    def __init__(self, file: BinaryIO, key: bytes) -> None:
        salt = os.urandom(_SALT)
        self._file, self._cipher = file, _cipher(key, salt)
        self._held = bytearray()
        self._count = 0
        file.write(_HEAD + salt)

    def write(self, data: bytes) -> int:
        self._held += data
        while len(self._held) > PIECE:  # one more is to come, so this is not the last
            self._put(bytes(self._held[:PIECE]), last=False)
            del self._held[:PIECE]
        return len(data)

    def _put(self, piece: bytes, *, last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._count, last), piece, _HEAD))
        self._count += 1

    def __enter__(self) -> SealedWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._put(bytes(self._held), last=True)


class SealedReader:
    """Reads such a file from its beginning; raises Unsealable. What was read is not to be trusted
    before all of it was, see ``finish``."""

    def __init__(self, file: BinaryIO, key: bytes) -> None:
        if file.read(len(_HEAD)) != _HEAD:
            raise Unsealable("This is no sealed file.")
        self._file, self._cipher = file, _cipher(key, file.read(_SALT))
        self._next = file.read(PIECE + _TAG)
        self._ready = bytearray()
        self._count = 0
        self._whole = False

    def read(self, size: int = -1) -> bytes:
        while not self._whole and (size < 0 or len(self._ready) < size):
            self._open_piece()
        size = len(self._ready) if size < 0 else size
        found = bytes(self._ready[:size])
        del self._ready[:size]
        return found

    def finish(self) -> None:
        """Read what is left, so that all of it was checked."""
        while not self._whole:
            self._open_piece()
            self._ready.clear()

    def _open_piece(self) -> None:
        from cryptography.exceptions import InvalidTag

        piece, self._next = self._next, self._file.read(PIECE + _TAG)
        self._whole = not self._next
        try:
            self._ready += self._cipher.decrypt(_nonce(self._count, self._whole), piece, _HEAD)
        except (InvalidTag, ValueError) as error:
            raise Unsealable("It was changed or cut off, or has another key.") from error
        self._count += 1


def _cipher(key: bytes, salt: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return AESGCM(HKDF(SHA256(), 32, salt, _HEAD).derive(key))


def _nonce(count: int, last: bool) -> bytes:
    return count.to_bytes(11, "big") + bytes([last])
