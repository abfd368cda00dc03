"""The packaged program: its size by component, and its start, cold and warm.

    python benchmarks/packaged.py PROGRAM [starts]

``PROGRAM`` is the file that starts it, in the folder of a package: after ``make packages``
build/packages/program/agent-studio/agent-studio. Sizes are unpacked and by ``xz -6``, each
component alone. A start is ``--smoke`` on a screen of Xvfb's: from the process to the first paint,
and until a key is in the composer. Cold means that the system was told to forget what it read of
the folder, which needs a disk below. The same start from the source stands beside it; the files
that both open until then are counted by ``strace``, whatever else the computer does. Not part of
``make bench``.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from measure import HERE, Row, child, middle, show

START = re.compile(
    r"painted at ([\d.]+) after ([\d.]+) s of processor time, typable at ([\d.]+) after ([\d.]+)"
)
LARGEST = 15
SOURCE = (sys.executable, "-m", "studio")


class Packing:
    """A file that packs what is written to it, and keeps the size alone."""

    def __init__(self) -> None:
        self.size = 0
        self._packer = lzma.LZMACompressor(preset=6)

    def write(self, data: bytes) -> int:
        self.size += len(self._packer.compress(data))
        return len(data)

    def close(self) -> None:
        self.size += len(self._packer.flush())


def packed(path: Path) -> int:
    file = Packing()
    with tarfile.open(fileobj=cast("BinaryIO", file), mode="w|") as archive:
        archive.add(path, path.name)
    file.close()
    return file.size


def unpacked(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    return sum(one.lstat().st_size for one in files if one.is_symlink() or one.is_file())


def sizes(folder: Path) -> list[Row]:
    """The largest parts of the program, by what they take unpacked."""
    parts = sorted((folder / "_internal").iterdir(), key=unpacked, reverse=True)
    rows = [Row("everything, unpacked", unpacked(folder) / 1e6, None, "MB")]
    for one in parts[:LARGEST]:
        what = f"{one.name}, packed beside unpacked"
        rows.append(Row(what, packed(one) / 1e6, unpacked(one) / 1e6, "MB"))
    return rows


def forget(folder: Path) -> None:
    """Have the system drop what it has read of these files."""
    os.sync()
    for one in folder.rglob("*"):
        if one.is_file() and not one.is_symlink():
            with one.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def screen() -> Iterator[str]:
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            yield f":{told.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


def start(*program: str | Path) -> tuple[float, ...]:
    """Seconds to the first paint and to a typable composer, by the clock and of the processor."""
    with tempfile.TemporaryDirectory() as place:
        began = time.time()
        done = subprocess.run(
            [*program, "--smoke", f"{place}/picture.png"],
            cwd=HERE.parent,
            capture_output=True,
            text=True,
            check=True,
        )
    told = START.search(done.stdout)
    assert told is not None, done.stdout
    painted, first, typable, then = map(float, told.groups())
    return painted - began, first, typable - began, then


def opened(*program: str | Path) -> int:
    """Files that were opened until the first paint."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "calls")
        traced = ("strace", "-f", "-qq", "-o", file, "-e", "trace=openat,write", *program)
        start(*traced)
        calls = file.read_text("utf-8", "replace").partition("smoke: start")[0]
    return len(re.findall(r"openat\(.*\) = \d+$", calls, re.MULTILINE))


def starts(program: Path, count: int) -> list[Row]:
    cold: list[tuple[float, ...]] = []
    warm: list[tuple[float, ...]] = []
    bare: list[dict[str, Any]] = []
    source: list[tuple[float, ...]] = []
    rows: list[Row] = []
    with screen() as name:
        os.environ |= {"DISPLAY": name, "QT_QPA_PLATFORM": "xcb"}
        child([HERE / "started" / "bare.py"])
        for _ in range(count):
            forget(program.parent)
            cold.append(start(program))
            warm.append(start(program))
            source.append(start(*SOURCE))
            began = time.time()
            found = child([HERE / "started" / "bare.py"])
            bare.append({"at": found["at"] - began, "cpu": found["cpu"]})
        if shutil.which("strace"):
            counts = opened(program), opened(*SOURCE)
            rows.append(Row("files opened to first paint", *counts, "files", "", "from the source"))
    for name, take in (("median", middle), ("least", min)):
        ours, theirs = (take(one[1] for one in many) * 1000 for many in (warm, source))
        title = f"warm start to first paint, CPU, {name}"
        rows.append(Row(title, ours, theirs, "ms", "", "from the source"))
    columns = (
        (0, "first paint, clock", "at"),
        (1, "first paint, CPU", "cpu"),
        (2, "typable composer, clock", "at"),
        (3, "typable composer, CPU", "cpu"),
    )
    for label, found, goal in (("warm", warm, "< 350 ms"), ("cold", cold, "< 600 ms")):
        for column, what, base in columns:
            for name, take in (("median", middle), ("least", min)):
                value = take(one[column] for one in found) * 1000
                against = take(one[base] for one in bare) * 1000
                wanted = goal if column == 2 else ""
                title = f"{label} start to {what}, {name}"
                rows.append(Row(title, value, against, "ms", wanted, "bare QMainWindow, warm"))
    return rows


def main() -> None:
    words = [one for one in sys.argv[1:] if not one.startswith("--")]
    if not words:
        raise SystemExit(__doc__)
    program = Path(words[0]).resolve()
    count = int(words[1]) if len(words) > 1 else 5
    show([*sizes(program.parent), *starts(program, count)])


if __name__ == "__main__":
    main()
