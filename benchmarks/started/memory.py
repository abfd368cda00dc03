"""Memory of this process, in MB."""

import sys


def memory() -> dict[str, float]:
    """Resident, and resident with shared pages split between those who share them.

    Only where the system tells (Linux); elsewhere empty.
    """
    if not sys.platform.startswith("linux"):
        return {}
    found: dict[str, float] = {}
    with open("/proc/self/smaps_rollup") as lines:
        for line in lines:
            name, _, rest = line.partition(":")
            if name in ("Rss", "Pss"):
                found[name.lower()] = int(rest.split()[0]) / 1024
    return found
