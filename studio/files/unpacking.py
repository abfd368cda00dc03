"""Unpacking: takes the files out of a stranger's zip file, within bounds and below one folder."""

from __future__ import annotations

import lzma
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from .folders import private_folder

MOST_FILES = 20_000
MOST_BYTES = 500_000_000
DEEPEST = 20
"""Folders within each other."""
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError),
    *(EOFError, ValueError, OverflowError),
)
"""What reading a zip file raises that is damaged, or packed in a way that is not known."""
_RATIO, _RATIO_FROM = 200, 10_000_000
"""How many times its packed size a file of more than these bytes may have."""
_CHUNK = 1 << 20


class UnpackError(Exception):
    """The zip file is damaged or passes a bound; the text says which."""


def unpack(
    path: Path,
    into: Path,
    *,
    most_files: int = MOST_FILES,
    most_bytes: int = MOST_BYTES,
    deepest: int = DEEPEST,
) -> list[str]:
    """Unpack a zip file; returns the names of links and of what leads out, which are left out.

    Raises UnpackError. What was written until then stays.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            return _Unpacking(packed, private_folder(into), most_bytes).all(most_files, deepest)
    except DAMAGED as error:
        raise UnpackError(f"{path} is no zip file that can be read: {error}.") from error
    except OSError as error:
        raise UnpackError(f"The zip file cannot be unpacked: {error.strerror}.") from error


def check_measurable(entry: zipfile.ZipInfo) -> None:
    """Raise UnpackError for what is unpacked by more than is read of it: a bomb fills memory."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnpackError("The zip file is packed in a way that is not known: only deflate is.")


class _Unpacking:
    def __init__(self, packed: zipfile.ZipFile, into: Path, most_bytes: int) -> None:
        self._packed, self._into, self._most = packed, into, most_bytes
        self._written = 0

    def all(self, most_files: int, deepest: int) -> list[str]:
        entries = self._packed.infolist()
        if len(entries) > most_files:
            raise UnpackError(f"The zip file has more than {most_files:,} files.")
        left_out: list[str] = []
        for entry in entries:
            kind = stat.S_IFMT(entry.external_attr >> 16)
            place = place_within(entry.filename)
            if place is None or kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                left_out.append(entry.filename)
            elif len(place.parts) > deepest:
                raise UnpackError(f"The zip file has folders more than {deepest} deep.")
            elif entry.is_dir():
                private_folder(self._into / place)
            else:
                self._one(entry, self._into / place)
        return left_out

    def _one(self, entry: zipfile.ZipInfo, target: Path) -> None:
        check_measurable(entry)
        grows = entry.file_size > _RATIO_FROM
        if grows and entry.file_size > _RATIO * max(entry.compress_size, 1):
            raise UnpackError("The zip file grows without measure when it is unpacked. Refused.")
        private_folder(target.parent)
        with self._packed.open(entry) as source, target.open("xb") as file:
            while data := source.read(_CHUNK):
                self._written += len(data)
                if self._written > self._most:
                    raise UnpackError(f"The zip file has more than {self._most // 1_000_000} MB.")
                file.write(data)
        runnable = (entry.external_attr >> 16) & stat.S_IXUSR
        target.chmod(0o700 if runnable else 0o600)


def place_within(name: str) -> PurePosixPath | None:
    """Where an entry of a zip file belongs; None if that is outside."""
    path = PurePosixPath(name)
    wrong = "\\" in name or ":" in name or "\0" in name
    return None if wrong or path.is_absolute() or ".." in path.parts or not path.parts else path
