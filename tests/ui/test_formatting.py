"""Folders, counts, times and dates as a person reads them."""

from __future__ import annotations

from pathlib import Path

from studio.ui.formatting import (
    age,
    ago,
    byte_size,
    clock,
    context_size,
    day,
    duration,
    month,
    short_count,
    short_path,
    whole_seconds,
)
from support.languages import language


def test_a_folder_below_home_begins_with_a_tilde() -> None:
    home = Path.home()
    assert [short_path(str(path)) for path in (home, home / "code" / "atlas")] == [
        "~", "~/code/atlas",
    ]  # fmt: skip
    assert short_path("/somewhere/else") == "/somewhere/else"


def test_counts_have_three_digits_at_most() -> None:
    assert [short_count(n) for n in (999, 10_100, 152_000, 1_200_000)] == [
        "999", "10.1k", "152k", "1.2M",
    ]  # fmt: skip
    assert [short_count(n) for n in (99_949, 99_950, 999_499, 999_999, 99_950_000)] == [
        "99.9k", "100k", "999k", "1.0M", "100M",
    ]  # fmt: skip
    assert [context_size(n) for n in (999_499, 999_999)] == ["999k", "1M"]


def test_sizes_of_files_are_told_in_the_persons_language() -> None:
    sizes = (1, 295, 1_000, 1_234_567, 999_600, 31_400_000_000)
    assert [byte_size(n) for n in sizes] == [
        "1 byte",
        "295 bytes",
        "1.0 kB",
        "1.2 MB",
        "1.0 MB",
        "31 GB",
    ]
    with language("de"):
        assert [byte_size(n) for n in sizes[:4]] == ["1 Byte", "295 Byte", "1,0 kB", "1,2 MB"]


def test_times() -> None:
    assert [duration(s) for s in (2.4, 18.2, 112)] == ["2.4 s", "18 s", "1 m 52 s"]
    assert clock(83.9) == "1:23"
    assert [clock(one) for one in (3599, 3600, 40_271)] == ["59:59", "1:00:00", "11:11:11"], "W-54"
    assert whole_seconds(0.2) == "1 s"


def test_how_long_ago() -> None:
    assert [age(s) for s in (10, 61, 7300)] == ["now", "1m", "2h"]
    assert [ago(s) for s in (5, 130, 7300, 3 * 86400)] == [
        "just now", "2 min ago", "2 h ago", "3 days ago",
    ]  # fmt: skip


def test_dates() -> None:
    assert (month("2026-11"), month("soon")) == ("November 2026", "soon")
    assert (day("2026-12-01"), day("soon")) == ("1 Dec 2026", "soon")
