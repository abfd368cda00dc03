"""Memory of this process, in MB."""

import sys
from pathlib import Path


def memory() -> dict[str, float]:
    """Resident, and resident with shared pages split between those who share them.

    Only where the system tells (Linux); elsewhere empty.
    """
    if not sys.platform.startswith("linux"):
        return {}
    found: dict[str, float] = {}
    with Path("/proc/self/smaps_rollup").open() as lines:
        for line in lines:
            name, _, rest = line.partition(":")
            if name in ("Rss", "Pss"):
                found[name.lower()] = int(rest.split()[0]) / 1024
    return found
