"""uv: fetches the program that starts servers from PyPI and the Python of packs (X-3).

It comes from PyPI, in the version whose digest stands here: nothing else is unpacked, whoever
answers. It is put into a folder of this program's own, and changes nothing for others.
"""

from __future__ import annotations

import asyncio
import hashlib
import platform
import shutil
import stat
import sys
import tempfile
import zipfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from studio.domain.errors import ConfigurationError
from studio.domain.records import dataclass
from studio.files.folders import private_folder

if TYPE_CHECKING:
    import httpx2

VERSION = "0.13.9"
COMMANDS = ("uv", "uvx")
SITE = "https://files.pythonhosted.org/packages"
MOST = 100_000_000
"""Bytes; more is not uv."""
SECONDS = 30.0
"""Without a byte after which the connection counts as gone."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file of PyPI: where it is there, and the SHA-256 of its bytes."""

    path: str
    sha256: str


def _wheel(folder: str, tag: str, sha256: str) -> Wheel:
    return Wheel(f"{folder}/uv-{VERSION}-py3-none-{tag}.whl", sha256)


WHEELS = {
    ("linux", "x86_64"): _wheel(
        "fe/fe/794884de0efd3ac77a427cab21aa72c0483e100c55a42cd5cbb02c141b84",
        "musllinux_1_1_x86_64",
        "2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25",
    ),
    ("linux", "aarch64"): _wheel(
        "57/15/94b6cd62ac3ff6550288328e8035288875197cbc183f51554b266a69877b",
        "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
        "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
    ),
    ("darwin", "arm64"): _wheel(
        "f3/a7/a8d7b074798c7fb3b26b37584b8fe2e29df2ccdc24ce7902caab2a53edbf",
        "macosx_11_0_arm64",
        "66c512266d633bef48384a1f53003f41f2a8e7b36fe6e7fbfd3e0fd52d96fa63",
    ),
    ("darwin", "x86_64"): _wheel(
        "1e/db/08e9ef4879bd667e6d7b4705e594e5bd3e4585f10fc63cb16b9fa2fac63e",
        "macosx_10_12_x86_64",
        "c16ed11e013557536b3e60065f1b912f6407bd6518e041b961e23ef9e6b4fbf5",
    ),
    ("win32", "amd64"): _wheel(
        "dd/ef/ceeabf3631117f7354787d9fb1ffe943899e59ed4b887a696ed547e47e76",
        "win_amd64",
        "6a44b2ed8111d2f60d2b92627c5dccda3f7ed7570b18ce115e569cd68c28246b",
    ),
    ("win32", "arm64"): _wheel(
        "da/d1/d97a5db1f27e077e4d6329223f6b3f719c02c97e4092043f13e628558d05",
        "win_arm64",
        "eeb92051c2123b9730c46b04cc843cfa4bc7d7b0aec56df431a2215ef4cb0273",
    ),
}
"""By system and processor; those of Linux need no library of the system."""


def uv_folder(programs: Path) -> Path:
    """Where a fetched uv is, below the folder of fetched programs."""
    return programs / f"uv-{VERSION}"


def is_uv(command: str) -> bool:
    """Whether a server's command, without a folder, is one that uv brings."""
    return command.removesuffix(".exe") in COMMANDS


async def fetch_uv(client: httpx2.AsyncClient, programs: Path) -> Path:
    """Fetch uv and return its folder; only a person's click or command may call this.

    Raises ConfigurationError, which says in words what went wrong.
    """
    import httpx2

    wheel = WHEELS.get((sys.platform, platform.machine().casefold()))
    if wheel is None:
        raise ConfigurationError("There is no uv to fetch for this computer’s system or processor.")
    data = bytearray()
    try:
        async with client.stream(
            "GET", f"{SITE}/{wheel.path}", follow_redirects=True, timeout=SECONDS
        ) as response:
            if response.status_code != 200:
                raise ConfigurationError(
                    f"uv cannot be fetched from PyPI: status {response.status_code}."
                )
            async for part in response.aiter_bytes():
                data += part
                if len(data) > MOST:
                    break
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise ConfigurationError("uv cannot be fetched from PyPI. Check the connection.") from error
    return await asyncio.to_thread(_put, bytes(data), wheel.sha256, programs)


def _put(data: bytes, sha256: str, programs: Path) -> Path:
    """Unpack the programs of a wheel that is the expected one; they are there whole or not."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ConfigurationError(
            "What came is not the uv that this program knows, and was not kept."
        )
    target = uv_folder(programs)
    try:
        private_folder(programs)
        with (
            tempfile.TemporaryDirectory(dir=programs, prefix=".") as made,
            zipfile.ZipFile(BytesIO(data)) as packed,
        ):
            folder = Path(made) / target.name
            folder.mkdir(0o700)
            for name in packed.namelist():
                whole = PurePosixPath(name)
                if whole.parent.name == "scripts" and is_uv(whole.name):
                    path = folder / whole.name
                    path.write_bytes(packed.read(name))
                    path.chmod(path.stat().st_mode | stat.S_IXUSR)
            names = {one.name for one in folder.iterdir()}
            if target.is_dir() and not names <= {one.name for one in target.iterdir()}:
                shutil.rmtree(target)  # somebody took a program out of it
            with suppress(OSError):  # another window was first
                folder.rename(target)
    except OSError as error:
        raise ConfigurationError(f"uv cannot be kept in {programs}: {error}.") from error
    return target
