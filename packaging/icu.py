"""Cuts the data of Qt's ICU down to what Qt asks it for: 32 MB to 4, packed 8 to 1.

Qt sorts names with ICU (``coll``). Dates, numbers and names of languages it has itself, and this
program lets Python convert letters. The data are a table of names and places in a library, one
symbol, of which ``ld`` makes another library.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

KEPT = re.compile(
    r"coll/(?!(zh|ja|ko)[_.]).+"  # the order of Chinese characters weighs as much as all others
    r"|(?!unames)[^/]+\.(icu|nrm)"
    r"|(?![a-z]{2,3}[_.])[^/]+\.res|(en|de)\.res"  # facts of all languages, few words of one
)
ALIGNED = 16


def is_kept(name: str) -> bool:
    """Whether an item is of use; ``name`` is what follows the package's own name."""
    return KEPT.fullmatch(name) is not None


def items(package: bytes) -> tuple[bytes, list[tuple[str, bytes]]]:
    """The head of a package of ICU's, and what is in it by name, in order."""
    (head,) = struct.unpack_from("<H", package)
    if package[2:4] != b"\xda\x27" or package[12:16] != b"CmnD" or package[8]:
        raise ValueError("these are no data of ICU's, or of another byte order")
    (count,) = struct.unpack_from("<I", package, head)
    places = [struct.unpack_from("<II", package, head + 4 + 8 * at) for at in range(count)]
    ends = [*(data for _, data in places[1:]), len(package) - head]
    found: list[tuple[str, bytes]] = []
    for (name, start), end in zip(places, ends, strict=True):
        stop = package.index(b"\0", head + name)
        text = package[head + name : stop].decode("ascii")
        found.append((text, package[head + start : head + end]))
    return package[:head], found


def packed(head: bytes, kept: Iterable[tuple[str, bytes]]) -> bytes:
    """A package with these items, which are sorted by name."""
    rows = list(kept)
    names, at = bytearray(), 4 + 8 * len(rows)
    name_places: list[int] = []
    for name, _ in rows:
        name_places.append(at + len(names))
        names += name.encode("ascii") + b"\0"
    place = _aligned(at + len(names))
    table, body = struct.pack("<I", len(rows)), bytearray()
    for (_, data), named in zip(rows, name_places, strict=True):
        table += struct.pack("<II", named, place + len(body))
        body += data + bytes(_aligned(len(data)) - len(data))
    padding = bytes(place - at - len(names))
    return b"".join((head, table, bytes(names), padding, bytes(body)))


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def trim_icu(library: Path) -> None:
    """Replace ``libicudata.so`` by one with the kept items under the same symbol."""
    told = _said("readelf", "--wide", "--dyn-syms", library)
    found = re.search(r": ([0-9a-f]+) +\w+ (?:OBJECT|NOTYPE) .* (icudt\d+_dat)\b", told)
    if found is None:
        raise ValueError(f"{library} has no data of ICU's")
    start, symbol = int(found[1], 16), found[2]
    sections = _said("readelf", "--wide", "--sections", library)
    section = re.search(r"\.rodata +PROGBITS +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) ", sections)
    if section is None:
        raise ValueError(f"{library} has no section of data")
    address, place, size = (int(one, 16) for one in section.groups())
    data = library.read_bytes()[place + start - address : place + size]
    head, whole = items(data)
    kept = [(name, data) for name, data in whole if is_kept(name.partition("/")[2])]
    library.unlink()  # it may be a link to the file of the environment
    make_library(packed(head, kept), symbol, library)


def make_library(package: bytes, symbol: str, library: Path) -> None:
    """Write a shared library that has these data under a symbol, and nothing else."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "data").write_bytes(package)
        _run(folder, "ld", "-r", "-b", "binary", "-z", "noexecstack", "-o", "data.o", "data")
        _run(
            folder,
            *("objcopy", "--redefine-sym", f"_binary_data_start={symbol}"),
            *("--strip-symbol", "_binary_data_end", "--strip-symbol", "_binary_data_size"),
            *("--set-section-alignment", f".data={ALIGNED}"),
            *("--rename-section", ".data=.rodata,alloc,load,readonly,data,contents", "data.o"),
        )
        name = library.name
        _run(folder, "ld", "-shared", "-z", "noexecstack", "-soname", name, "-o", "made", "data.o")
        library.write_bytes((folder / "made").read_bytes())
        library.chmod(0o755)


def _run(where: Path, *command: str) -> None:
    subprocess.run(command, cwd=where, check=True)


def _said(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
