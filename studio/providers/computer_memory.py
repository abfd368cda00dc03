"""Memory: what this computer has, and how much of a model's context fits in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from studio.domain.jsonvalue import Json, JsonObject, as_count
from studio.domain.records import dataclass

CONTEXT_LEAST = 4_096
"""Tokens; Ollama's own default, which every machine that runs the model at all can hold."""

_GIBIBYTE = 1 << 30
_STEP = 4_096
_VALUE_BYTES = 2
"""Of one number in the cache of keys and values (f16, Ollama's default)."""
_OVERHEAD = 1.1
"""The buffers of a computation take about a tenth more."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Of this computer, in bytes."""

    total: int
    free: int

    @property
    def reserve(self) -> int:
        """What stays for the rest of the computer: an eighth of all, 2 GiB at least."""
        return max(self.total // 8, 2 * _GIBIBYTE)

    @property
    def usable(self) -> int:
        """What a model may take without pushing other programs out.

        Never taken for less than half of all: a model that is loaded already
        takes from what is free, and is counted again.
        """
        rest = self.reserve
        return max(min(self.free, self.total - rest), self.total // 2 - rest, 0)

    @classmethod
    def of_this_computer(cls) -> Memory | None:
        """None where it cannot be told. May start a process; call it in a thread."""
        try:
            if sys.platform == "win32":
                return cls(*_windows())
            if sys.platform == "darwin":
                return cls(*_mac())
            return cls(*_linux())
        except (OSError, ValueError, AttributeError, subprocess.SubprocessError):
            return None


def _linux() -> tuple[int, int]:
    page = os.sysconf("SC_PAGE_SIZE")
    total, free = page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")
    try:
        # What files are kept in memory for is free as soon as it is needed.
        told = Path("/proc/meminfo").read_text("ascii")
        found = re.search(r"^MemAvailable:\s+(\d+) kB", told, re.MULTILINE)
    except OSError:
        found = None
    return total, int(found[1]) * 1024 if found else free


def _mac() -> tuple[int, int]:
    def output(*command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout

    total = int(output("/usr/sbin/sysctl", "-n", "hw.memsize"))
    pages = output("/usr/bin/vm_stat")
    size = re.search(r"page size of (\d+) bytes", pages)
    kept = re.findall(r"^Pages (?:free|inactive|purgeable|speculative):\s+(\d+)", pages, re.M)
    return total, sum(map(int, kept)) * int(size[1] if size else 4096)


def _windows() -> tuple[int, int]:
    import ctypes

    class MemoryStatus(ctypes.Structure):
        """MEMORYSTATUSEX of ``GlobalMemoryStatusEx``."""

        _fields_ = [
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((f"bytes_{number}", ctypes.c_ulonglong) for number in range(7)),
        ]

    status = MemoryStatus()
    status.length = ctypes.sizeof(status)
    if not getattr(ctypes, "windll").kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # noqa: B009 - exists on Windows only
        raise OSError("GlobalMemoryStatusEx")
    return int(status.bytes_0), int(status.bytes_1)


def fitting_context(
    most: int, cache_bytes: int | None, weights: int | None, memory: Memory | None
) -> int:
    """How many tokens of context fit beside the weights, ``most`` at most.

    ``cache_bytes`` is what one token takes, ``weights`` what the model takes, in bytes;
    what is not known (None) does not bound it.
    """
    if memory is None or not cache_bytes:
        return most
    room = memory.usable - (weights or 0) * _OVERHEAD
    fits = int(room / (cache_bytes * _OVERHEAD)) // _STEP * _STEP
    return min(most, max(fits, CONTEXT_LEAST))


def cache_bytes(info: JsonObject, family: str) -> int | None:
    """Keys and values of one token in all layers, in bytes, from a model's metadata.

    An upper bound: layers that look back only a little way need less.
    """

    def number(name: str) -> int:
        return as_count(info.get(f"{family}.{name}"))

    layers, heads = number("block_count"), _heads(info.get(f"{family}.attention.head_count"))
    if not layers or not heads:
        return None
    latent = number("attention.kv_lora_rank")  # DeepSeek keeps one short vector for all heads
    if latent:
        return layers * (latent + number("rope.dimension_count")) * _VALUE_BYTES
    shared = _heads(info.get(f"{family}.attention.head_count_kv")) or heads
    usual = number("embedding_length") // max(heads)
    keys = number("attention.key_length") or usual
    values = number("attention.value_length") or usual
    # Some models give the heads of each layer, 0 for one that keeps no cache.
    all_heads = sum(shared) if len(shared) > 1 else layers * shared[0]
    return all_heads * (keys + values) * _VALUE_BYTES or None


def _heads(value: Json) -> list[int]:
    counts = [as_count(one) for one in (value if isinstance(value, list) else [value])]
    return counts if any(counts) else []
