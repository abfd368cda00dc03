"""Extras: says how a part of the program that not everybody has is installed."""

from __future__ import annotations

import sys


def how_to_install(extra: str) -> str:
    """What to type for an extra. In a package for a system there is no pip that could bring one."""
    if getattr(sys, "frozen", False):
        return f"pipx install 'agent-studio[{extra}]', beside this package, which cannot have it"
    return f"pip install 'agent-studio[{extra}]'"
