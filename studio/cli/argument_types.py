"""Values of the command line: dates, numbers, budgets, each told what is wrong with it."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.domain.agents import Caps

MAX_STEPS = 1_000


def day(text: str) -> float:
    """When a local day begins, in seconds since the epoch."""
    from datetime import date, datetime, time

    try:
        return datetime.combine(date.fromisoformat(text), time()).timestamp()
    except (ValueError, OverflowError, OSError):  # no date, or none that clocks know
        raise argparse.ArgumentTypeError("a date is written like 2026-11-01") from None


def number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("a rule's number is wanted, as permissions list has it")
    return int(text)


def steps(text: str) -> int:
    wanted = int(text) if text.isdecimal() else 0
    if not 1 <= wanted <= MAX_STEPS:
        raise argparse.ArgumentTypeError(f"a number from 1 to {MAX_STEPS:,} is wanted")
    return wanted


def caps(text: str) -> Caps:
    """``0.50`` or ``$0.50``: dollars; ``20000tok``: tokens."""
    from studio.domain.agents import Caps

    form = re.fullmatch(r"\$?(\d+\.?\d*|\.\d+)|(\d+) ?tok(?:ens)?", text.strip())
    wanted = Caps(int(form[2] or 0), float(form[1] or 0)) if form else Caps()
    if not (wanted.tokens or wanted.dollars):
        raise argparse.ArgumentTypeError("a budget is dollars, like 0.50, or tokens, like 20000tok")
    return wanted


def port(text: str) -> int:
    wanted = int(text) if text.isdecimal() else -1
    if not 0 <= wanted <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return wanted
