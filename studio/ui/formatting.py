"""Writes folders, numbers, prices, times and dates as a person reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .translation import locale, tr, tr_in, tr_later, tr_plural

if TYPE_CHECKING:
    from studio.domain.agents import Caps
    from studio.domain.run_events import CapRaised
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


def number(count: int) -> str:
    """1,234,567."""
    return locale().toString(count)


def decimal(value: float, digits: int = 1) -> str:
    """1,234.5, with as many digits after the point as asked for."""
    return locale().toString(float(value), "f", digits)


def plain(value: float) -> str:
    """1,234.5, with the digits that it has."""
    from PySide6.QtCore import QLocale

    all_digits = QLocale.FloatingPointPrecisionOption.FloatingPointShortest.value
    return locale().toString(float(value), "f", all_digits)


def percent(value: float) -> str:
    """A share of one as 85%."""
    return tr("{number}%").format(number=round(100 * value))


def dollars(value: float, digits: int = 2) -> str:
    """$1,234.50."""
    return tr("${amount}").format(amount=decimal(value, digits))


def cap_words(caps: Caps, reason: str) -> str:
    """``$2.00`` or ``20,000 tokens``: the cap that a turn reached which ended for ``reason``."""
    if reason == "money_limit":
        return dollars(caps.dollars)
    return tr_plural("{count} token", "{count} tokens", caps.tokens)


def caps_words(raised: CapRaised) -> str:
    """``$2.00, 10 min`` of what was added to the limits of a run."""
    parts = [dollars(raised.caps.dollars)] if raised.caps.dollars else []
    if raised.caps.tokens:
        parts.append(tr_plural("{count} token", "{count} tokens", raised.caps.tokens))
    if raised.minutes:
        parts.append(tr("{number} min").format(number=plain(raised.minutes)))
    if raised.cycles:
        parts.append(tr_plural("{count} cycle", "{count} cycles", raised.cycles))
    if raised.until:
        parts.append(tr("until {time}").format(time=raised.until))
    return ", ".join(parts)


def context_size(count: int | None) -> str:
    """The tokens of a context window: 200k, 1M; empty if not known."""
    if not count:
        return ""
    if count >= 999_500:
        return _millions(count, 0 if round(count / 100_000) % 10 == 0 else 1)
    return tr("{number}k").format(number=round(count / 1000)) if count >= 1000 else str(count)


def price(dollars_in: float | None, dollars_out: float | None) -> str:
    """Dollars for a million tokens, input and output: $3 / $15, $0.075 / $0.30."""
    if dollars_in is None or dollars_out is None:
        return ""

    def money(value: float) -> str:
        if value == int(value):
            return dollars(value, 0)
        return dollars(value, 2 if f"{value:.3f}".endswith("0") else 3)

    return f"{money(dollars_in)} / {money(dollars_out)}"


def short_count(count: int) -> str:
    """10.1k, 76.0k, 1.2M: three digits at most. What rounds to 1,000k is 1.0M."""
    if count < 1000:
        return str(count)
    if count >= 999_500:
        return _millions(count, 1 if count < 99_950_000 else 0)
    return tr("{number}k").format(number=decimal(count / 1000, 1 if count < 99_950 else 0))


def _millions(count: int, digits: int) -> str:
    return tr("{number}M").format(number=decimal(count / 1_000_000, digits))


def byte_size(count: int) -> str:
    """A number of bytes: “1.2 MB”."""
    if count < 1000:
        return tr_plural("{count} byte", "{count} bytes", count)
    amount, unit = count / 1000, "kB"
    for bigger in ("MB", "GB"):
        if amount >= 999.5:
            amount, unit = amount / 1000, bigger
    return f"{decimal(amount, 1 if amount < 10 else 0)} {unit}"


def clock(seconds: float) -> str:
    """The time that something has run for so far: m:ss, from an hour on h:mm:ss."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d}"
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def duration(seconds: float) -> str:
    """How long something took: 2.4 s, 18 s, 1 m 52 s."""
    if seconds >= 9.95:
        return whole_seconds(seconds)
    return tr("{number} s").format(number=decimal(max(0.0, seconds)))


def whole_seconds(seconds: float) -> str:
    """“4 s”, “1 m 5 s”, at least one second."""
    whole = max(1, round(seconds))
    if whole < 60:
        return tr("{number} s").format(number=whole)
    return tr("{minutes} m {seconds} s").format(minutes=whole // 60, seconds=whole % 60)


def rough_span(seconds: float) -> str:
    """How long something will take about: 41 s, 38 min, 1 h 45 min."""
    if seconds < 90:
        return tr("{number} s").format(number=max(1, round(seconds)))
    minutes = round(seconds / 60)
    if minutes < 90:
        return tr("{number} min").format(number=minutes)
    hours, minutes = divmod(minutes, 60)
    return tr("{hours} h {minutes} min").format(hours=number(hours), minutes=minutes)


def age(seconds: float) -> str:
    """How long ago, for the end of a row: now, 2m, 3h, 2d."""
    minutes = int(max(0.0, seconds) // 60)
    if minutes < 1:
        return tr_in("how long ago", "now")
    if minutes < 60:
        return tr_in("how long ago", "{number}m").format(number=minutes)
    if minutes < 24 * 60:
        return tr_in("how long ago", "{number}h").format(number=minutes // 60)
    return tr_in("how long ago", "{number}d").format(number=minutes // (24 * 60))


def ago(seconds: float) -> str:
    """How long ago, in a sentence: just now, 2 min ago, 3 h ago, 2 days ago."""
    minutes = int(max(0.0, seconds) // 60)
    if minutes < 1:
        return tr("just now")
    if minutes < 60:
        return tr("{number} min ago").format(number=minutes)
    if minutes < 48 * 60:
        return tr("{number} h ago").format(number=minutes // 60)
    return tr_plural("{count} day ago", "{count} days ago", minutes // (24 * 60))


def month(date: str) -> str:
    """2026-11 as November 2026; anything else as it is."""
    year, _, number = date.partition("-")
    if number.isdigit() and 1 <= int(number) <= 12:
        name = locale().standaloneMonthName(int(number))
        return f"{name} {year}"
    return date


def day(date: str) -> str:
    """2026-12-01 as 1 Dec 2026; anything else as it is."""
    from PySide6.QtCore import QDate

    found = QDate.fromString(date, "yyyy-MM-dd")
    return locale().toString(found, tr_in("date", "d MMM yyyy")) if found.isValid() else date


def day_of(at: float) -> str:
    """Seconds since 1970 as a day: 24 Nov, with its year unless it is this one."""
    from PySide6.QtCore import QDate, QDateTime

    when = QDateTime.fromSecsSinceEpoch(int(at)).date()
    if when.year() == QDate.currentDate().year():
        return locale().toString(when, tr_in("date", "d MMM"))
    return locale().toString(when, tr_in("date", "d MMM yyyy"))


KEYS = {
    "Alt": tr_later("Alt"),
    "Ctrl": tr_later("Ctrl"),
    "Del": tr_later("Del"),
    "Down": tr_later("Down"),
    "End": tr_later("End"),
    "Enter": tr_later("Enter"),
    "Esc": tr_later("Esc"),
    "Home": tr_later("Home"),
    "Shift": tr_later("Shift"),
    "Space": tr_later("Space"),
    "Tab": tr_later("Tab"),
    "Up": tr_later("Up"),
}
"""What is printed on keys."""


def keys(shortcut: str) -> str:
    """``Ctrl+K`` with the names of keys as they are printed on the person's keyboard."""
    return "+".join(tr(KEYS[key]) if key in KEYS else key for key in shortcut.split("+"))


def moment(at: float) -> str:
    """Seconds since 1970 as day and time: 24 Nov 2026, 14:05:09."""
    from PySide6.QtCore import QDateTime

    when = QDateTime.fromSecsSinceEpoch(int(at))
    return locale().toString(when, tr_in("date", "d MMM yyyy, HH:mm:ss"))
