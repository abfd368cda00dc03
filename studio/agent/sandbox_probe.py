"""The sandbox probe: finds the sandbox that commands run in, as the settings ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from studio.processes.sandbox import Sandbox, find_sandbox


class SandboxProbe:
    """Tries what the system has, once, when the first command is near; ``private`` is hidden."""

    def __init__(self, private: Sequence[Path], wanted: Callable[[], bool]) -> None:
        self._private = tuple(private)
        self._wanted = wanted
        self._probing = asyncio.Lock()
        self._found: tuple[bool, Sandbox] | None = None
        """What was wanted, and what was found."""

    async def sandbox(self) -> Sandbox:
        """Where commands run now."""
        wanted = self._wanted()
        async with self._probing:
            if self._found is None or self._found[0] != wanted:
                found = await asyncio.to_thread(find_sandbox, self._private, wanted=wanted)
                await self.close()
                self._found = (wanted, found)
            return self._found[1]

    async def close(self) -> None:
        if self._found is not None:
            await asyncio.to_thread(self._found[1].close)
