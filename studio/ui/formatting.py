"""Writes folders, counts, prices, times and dates as a person reads them."""

from __future__ import annotations

import calendar
from pathlib import Path
from typing import TYPE_CHECKING

from studio.ui.translation import tr

if TYPE_CHECKING:
    from studio.storage.paths import Paths


def short_path(folder: str) -> str:
    """``~/code/atlas`` for a folder below the person's home."""
    try:
        inside = Path(folder).relative_to(Path.home())
    except (ValueError, RuntimeError):
        return folder
    return "~" if inside == Path() else f"~/{inside.as_posix()}"


def folder_name(folder: str, paths: Paths) -> str:
    """A chat's folder in words; those that the program made for itself are not named."""
    if not paths.owns(folder):
        return short_path(folder)
    return tr("No folder") if Path(folder) == paths.chats else tr("Demo files")


def context_size(count: int | None) -> str:
    """The tokens of a context window: 200k, 1M; empty if not known."""
    if not count:
        return ""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{round(count / 1000)}k" if count >= 1000 else str(count)


def price(dollars_in: float | None, dollars_out: float | None) -> str:
    """Dollars for a million tokens, input and output: $3 / $15, $0.075 / $0.30."""
    if dollars_in is None or dollars_out is None:
        return ""

    def money(value: float) -> str:
        if value == int(value):
            return f"${value:.0f}"
        exact = f"${value:.3f}"
        return exact[:-1] if exact.endswith("0") else exact

    return f"{money(dollars_in)} / {money(dollars_out)}"


def short_count(count: int) -> str:
    """10.1k, 76k, 1.2M: three digits at most."""
    if count < 1000:
        return str(count)
    value, unit = (count / 1_000, "k") if count < 1_000_000 else (count / 1_000_000, "M")
    return (f"{value:.1f}" if value < 100 else f"{value:.0f}") + unit


def clock(seconds: float) -> str:
    """The time that something has run for so far: m:ss."""
    whole = max(0, int(seconds))
    return f"{whole // 60}:{whole % 60:02d}"


def duration(seconds: float) -> str:
    """How long something took: 2.4 s, 18 s, 1 m 52 s."""
    return f"{max(0.0, seconds):.1f} s" if seconds < 9.95 else whole_seconds(seconds)


def whole_seconds(seconds: float) -> str:
    """“4 s”, “1 m 5 s”, at least one second."""
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} m {whole % 60} s"


def age(seconds: float) -> str:
    """How long ago, for the end of a row: now, 2m, 3h, 2d."""
    minutes = int(max(0.0, seconds) // 60)
    if minutes < 1:
        return "now"
    if minutes < 60:
        return f"{minutes}m"
    return f"{minutes // 60}h" if minutes < 24 * 60 else f"{minutes // (24 * 60)}d"


def ago(seconds: float) -> str:
    """How long ago, in a sentence: just now, 2 min ago, 3 h ago, 2 days ago."""
    minutes = int(max(0.0, seconds) // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    if minutes < 48 * 60:
        return f"{minutes // 60} h ago"
    return f"{minutes // (24 * 60)} days ago"


def month(date: str) -> str:
    """2026-11 as November 2026; anything else as it is."""
    year, _, number = date.partition("-")
    if number.isdigit() and 1 <= int(number) <= 12:
        return f"{calendar.month_name[int(number)]} {year}"
    return date


def day(date: str) -> str:
    """2026-12-01 as 1 Dec 2026; anything else as it is."""
    parts = date.split("-")
    if len(parts) == 3 and all(part.isdigit() for part in parts) and 1 <= int(parts[1]) <= 12:
        return f"{int(parts[2])} {calendar.month_abbr[int(parts[1])]} {parts[0]}"
    return date
