"""What a person who writes scripts expects of commands: days in words, codes, closed pipes (S-5)."""

from __future__ import annotations

import argparse
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest

from studio.cli.parser import day
from support.engine_home import engine_home


def test_a_day_is_a_date_or_a_word() -> None:
    today = date.today()
    for text, wanted in (
        ("2026-11-01", date(2026, 11, 1)),
        ("today", today),
        ("Yesterday", today - timedelta(1)),
        ("7d", today - timedelta(7)),
    ):
        assert day(text) == datetime.combine(wanted, time()).timestamp()
    for text in ("", "d", "-1d", "7", "tomorrow", "2026-13-01", "9999999999d"):
        with pytest.raises(argparse.ArgumentTypeError, match="yesterday"):
            day(text)


async def test_a_test_of_permissions_ends_with_its_verdict(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "ollama", []) as one:
        await one.command("permissions", "add", "run(ls *)")
        await one.command("permissions", "add", "run(rm *)", "--deny")
        codes = [
            await one.command("permissions", "test", f"run({what})")
            for what in ("ls a", "rm a", "git push", "ls a && rm a")
        ]
        assert codes == [0, 4, 5, 4]
        assert await one.command("permissions", "test", "run(ls", "--json") == 1
