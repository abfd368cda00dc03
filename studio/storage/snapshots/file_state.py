"""File state: reads what is at a path: a file, a link or a folder, with mode and digest."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from studio.domain.records import dataclass

from .blob_store import BlobStore, digest_of

Kind: TypeAlias = Literal["file", "link", "folder"]
Signature: TypeAlias = tuple[int, int, int, int, int]
_read = attrgetter("st_ctime_ns", "st_mtime_ns", "st_size", "st_ino", "st_mode")
_STAMP = 1 if sys.platform == "win32" else 0
"""The index of the time that no program can set; on Windows ctime is the file's creation."""
_TICK = 2_000_000_000
"""Nanoseconds: the coarsest clock of a file system (FAT), and some skew of a server."""
_BATCH = 8_000_000
_NOT_READ = "?"


@dataclass(frozen=True, slots=True)
class FileState:
    """What is at a path; ``mode`` are the permission bits.

    ``digest`` is the SHA-256 hex of a file's bytes or of a link's target, empty for
    a folder. For a file that is too big or cannot be read it begins with ``?``,
    and is made of the file's times, size and inode.
    """

    kind: Kind
    mode: int
    digest: str = ""

    @property
    def kept(self) -> bool:
        """Whether its content is known and can be restored."""
        return not self.digest.startswith(_NOT_READ)

    def __str__(self) -> str:
        return f"{self.kind} {self.mode:o} {self.digest}"

    @classmethod
    def parse(cls, text: str) -> FileState:
        """The state from its ``str``; raises ValueError."""
        kind, mode, digest = text.split(" ")
        if kind not in get_args(Kind):
            raise ValueError(text)
        return cls(cast("Kind", kind), int(mode, 8), digest)


Change: TypeAlias = tuple[FileState | None, FileState | None]
"""Before and after; None where there is nothing."""


def file_state_at(place: Path) -> FileState | None:
    """What is at a path now; its content is not kept."""
    return FileStateReader(None, None).read(str(place))[0]


class FileStateReader:
    """Reads file states, and keeps contents in batches.

    Contents are kept in ``contents``, unless that is None. A file of more than ``largest``
    bytes is not read.
    """

    def __init__(self, contents: BlobStore | None, largest: int | None) -> None:
        self._contents = contents
        self._largest = largest
        self._batch: dict[str, bytes] = {}
        self._size = 0

    def read(
        self, place: str, signature: Signature | None = None
    ) -> tuple[FileState | None, Signature | None]:
        """The state, and a signature that stays the same as long as the state does.

        The signature is None if it could stay the same after a change.
        """
        tries = 3
        while True:
            began, tries = time.time_ns(), tries - 1
            signature = signature or signatures_of([place])[0]
            if signature is None:
                return None, None
            mode = signature[4]
            if stat.S_ISDIR(mode):
                return FileState("folder", stat.S_IMODE(mode)), None
            if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
                return None, signature  # a pipe, a device: nothing to keep
            kind: Kind = "link" if stat.S_ISLNK(mode) else "file"
            try:
                if self._largest is not None and signature[2] > self._largest:
                    digest = _mark(signature)
                else:
                    digest = self._keep(_content(place, kind))
            except OSError:
                digest = _mark(signature)
            same = signatures_of([place])[0] == signature
            if same or not tries:
                bits = 0 if kind == "link" else stat.S_IMODE(mode)
                proof = settled(signature, began) if same else None
                return FileState(kind, bits, digest), proof
            signature = None

    def flush(self) -> None:
        if self._batch and self._contents is not None:
            self._contents.put(self._batch)
        self._batch, self._size = {}, 0

    def _keep(self, data: bytes) -> str:
        digest = digest_of(data)
        if self._contents is not None:
            self._batch[digest] = data
            self._size += len(data)
            if self._size > _BATCH:
                self.flush()
        return digest


def signatures_of(places: Sequence[str]) -> list[Signature | None]:
    """The signature of each path, None where nothing is."""
    try:
        return list(map(_read, map(os.lstat, places)))
    except (OSError, ValueError):
        return [signature_of(place) for place in places]


def signature_of(place: str) -> Signature | None:
    try:
        return _read(os.lstat(place))
    except (OSError, ValueError):
        return None


def settled(signature: Signature, began: int) -> Signature | None:
    """The signature, or None if the file is so young that a change could leave it the same.

    ``began`` is the time before the file was read, in nanoseconds since the epoch.
    """
    return signature if signature[_STAMP] < began - _TICK else None


def _mark(signature: Signature) -> str:
    return _NOT_READ + "-".join(map(str, signature[:4]))


def _content(place: str, kind: Kind) -> bytes:
    """The bytes of a file or a link's target; OSError if something else is there by now."""
    if kind == "link":
        return os.fsencode(os.readlink(place))  # noqa: PTH115 (a Path would normalise it)
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(place, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{place} is no file any more")
        return file.read()
