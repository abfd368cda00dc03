"""Files: the laws or decisions of a file, a zip or a folder, one after the other (KZ-27, KZ-28).

What cannot be read is told and stops nothing.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from studio.packs import ToolFailed

from .. import _german as german
from .laws import MOST_BYTES, Law, read_law

T = TypeVar("T")
Read = Callable[[bytes, str], T]
"""Makes something of the bytes of a file, whose name is for people; raises ToolFailed."""
MOST_FILES = 100_000
"""In one zip or folder; the whole federal law has some 6,800, the courts some 83,000."""
MOST_UNPACKED = 2_000_000_000
"""Bytes that one zip may unpack to; the whole federal law has some 1 GB."""


def laws_of(path: Path) -> Iterator[Law | str]:
    """Each law, or in German why one was not read; raises ToolFailed where there is nothing.
    Slow."""
    return read_all(path, read_law)


def read_all(path: Path, read: Read[T]) -> Iterator[T | str]:
    """What is made of each file, or in German why one was not read; raises ToolFailed where there
    is nothing. Slow."""
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.suffix.lower() in (".xml", ".zip"))
        if not found:
            raise ToolFailed(f"In {path} liegt keine .xml oder .zip.")
        for one in found[:MOST_FILES]:
            yield from _file(one, read)
        if len(found) > MOST_FILES:
            most = german.count(MOST_FILES)
            yield f"In {path} liegen mehr als {most} Dateien; die übrigen blieben liegen."
    elif path.is_file():
        yield from _file(path, read)
    else:
        raise ToolFailed(f"{path} gibt es nicht.")


def _file(path: Path, read: Read[T]) -> Iterator[T | str]:
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from _archive(archive, path.name, read)
            return
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except zipfile.BadZipFile:
        yield f"{path.name} ist keine heile zip-Datei und wurde nicht gelesen."
        return
    except OSError as error:
        yield f"{path.name} kann nicht gelesen werden: {error.strerror}."
        return
    yield _made(data, path.name, read)


def _archive(archive: zipfile.ZipFile, name: str, read: Read[T]) -> Iterator[T | str]:
    """What is made of a zip; of its zips too, which have one each, but of no deeper ones."""
    left = MOST_UNPACKED
    entries = [one for one in archive.infolist() if not one.is_dir()]
    for entry in entries[:MOST_FILES]:
        ending = entry.filename.rpartition(".")[2].lower()
        if ending not in ("xml", "zip"):
            continue
        inside = f"{name}/{entry.filename}"
        data = _unpacked(archive, entry, inside)
        if isinstance(data, str):
            yield data
            continue
        left -= len(data)
        if left < 0:
            yield f"{name} entpackt sich zu mehr als 2 GB; ab {entry.filename} blieb es liegen."
            return
        if ending == "xml":
            yield _made(data, inside, read)
            continue
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as inner:
                for one in inner.infolist():
                    if one.filename.lower().endswith(".xml"):
                        words = _unpacked(inner, one, f"{inside}/{one.filename}")
                        left -= len(words)
                        if left < 0:
                            yield f"{name} entpackt sich zu mehr als 2 GB und blieb dort liegen."
                            return
                        known = isinstance(words, str)
                        yield words if known else _made(words, f"{inside}/{one.filename}", read)
        except (OSError, zipfile.BadZipFile):
            yield f"{inside} ist keine heile zip-Datei und wurde nicht gelesen."
    if len(entries) > MOST_FILES:
        most = german.count(MOST_FILES)
        yield f"{name} enthält mehr als {most} Dateien; die übrigen blieben liegen."


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> bytes | str:
    """The bytes of an entry, one more than the limit at most; or why there are none."""
    if entry.flag_bits & 1:
        return f"{name} ist mit einem Passwort verschlossen und wurde nicht gelesen."
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"{name} ist auf eine Weise gepackt, die keine der beiden Seiten schreibt."
    try:
        with archive.open(entry) as file:
            return file.read(MOST_BYTES + 1)
    except Exception:  # zipfile raises what its decompressors do
        return f"{name} ist beschädigt und kann nicht entpackt werden."


def _made(data: bytes, name: str, read: Read[T]) -> T | str:
    if len(data) > MOST_BYTES:
        return f"{name} ist größer als 50 MB und wurde nicht gelesen."
    try:
        return read(data, name)
    except ToolFailed as error:
        return str(error)
    except (ValueError, LookupError):  # letters that the file names and nobody knows
        return f"{name} ist beschädigt: seine Zeichen sind nicht zu lesen."
