"""Runs whose program is killed at random points end as if it never was (W-15, W-16)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.kill_story import KillStory
from support.waiting import within

KILLS = 1_000 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 20


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="it forks")
async def test_w15_w16_a_killed_run_ends_as_if_it_never_was(tmp_path: Path) -> None:
    """PRE-19."""
    story = KillStory(tmp_path)
    async with within():
        await story.carry_out(KILLS, 7)
    assert len(story.kills) == KILLS
    assert len(story.ended) > 1
    assert {kill["run"] for kill in story.kills} - {0} <= story.ended.keys()
    assert not story.faults
