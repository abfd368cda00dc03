"""A site on this computer that has, in place of uv, programs that start Python with their words."""

from __future__ import annotations

import hashlib
import platform
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from io import BytesIO

import pytest

from studio.mcp import uv
from support.local_site import Site, site

STARTER = "uvx-of-the-tests"
"""What starts a server; this computer may have a real ``uvx``."""
PATH = "/aa/uv.whl"
_SCRIPT = f"""#!{sys.executable}
import os, sys
words = sys.argv[sys.argv.index("python") + 1:] if "python" in sys.argv else sys.argv[1:]
os.execv({sys.executable!r}, [{sys.executable!r}, *words])
"""


@cache  # a zip has the time in it, and its digest is compared
def wheel() -> bytes:
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        for name in ("uv", STARTER):
            packed.writestr(f"uv-1.data/scripts/{name}", _SCRIPT)
        packed.writestr("uv/__init__.py", "")
        packed.writestr("../scripts/other", "")
    return data.getvalue()


@asynccontextmanager
async def uv_to_fetch(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    async with site() as made:
        here = sys.platform, platform.machine().casefold()
        digest = hashlib.sha256(wheel()).hexdigest()
        monkeypatch.setitem(uv.WHEELS, here, uv.Wheel(PATH.lstrip("/"), digest))
        monkeypatch.setattr("studio.mcp.uv.SITE", made.url)
        monkeypatch.setattr("studio.mcp.uv.COMMANDS", ("uv", STARTER))
        made.page(PATH, wheel(), "application/octet-stream")
        yield made
