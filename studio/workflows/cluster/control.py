"""Control: says where a cluster is, and asks it how it does, or to stop (W-59).

The coordinator writes its address beside its certificates. Other programs of the same person find
it there, and prove with the certificate that they may ask.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Literal

from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import JsonObject
from studio.files.atomic_write import write_atomically

from .certificates import coordinator_identity
from .lines import LineClosed, connect, encode

SECONDS = 10.0
"""For which an answer is waited."""


def write_address(folder: Path, address: str) -> None:
    """Let other programs find the cluster; touches the disk."""
    write_atomically(_place(folder), json.dumps({"address": address}).encode())


def remove_address(folder: Path) -> None:
    _place(folder).unlink(missing_ok=True)


async def ask(folder: Path, what: Literal["status", "stop", "invitations"]) -> JsonObject:
    """What the cluster says of itself; raises ConfigurationError where none is running."""
    try:
        address = str(json.loads(_place(folder).read_text())["address"])
        identity = await asyncio.to_thread(coordinator_identity, folder)
        async with asyncio.timeout(SECONDS):
            host, _, port = address.rpartition(":")
            here = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
            line = await connect(f"{here}:{port}", identity)
            try:
                await line.write(encode({"do": what}))
                return await line.read()
            finally:
                line.close()
    except (OSError, ValueError, LineClosed) as error:  # TimeoutError too
        raise ConfigurationError("No cluster is running here.") from error


def status_of_run(folder: Path, run_id: str) -> JsonObject | None:
    """How the cluster does that works on a run; None if none does.

    Blocks: it is for a thread, with a loop of its own.
    """
    if not _place(folder).exists():
        return None
    try:
        told = asyncio.run(ask(folder, "status"))
    except ConfigurationError:
        return None
    return told if told.get("run") == run_id else None


def _place(folder: Path) -> Path:
    return folder / "address.json"
