"""Where the instructions of a step stand in its agent's file (W-31)."""

from __future__ import annotations

from pathlib import Path

from studio.workflows.agent_lines import AgentFile, line_of, where

TEXT = "---\nname: Coder\ndescription: Fix.\n---\n\nFix.\n\nKeep patches small.\nSay why.\n"
FILE = AgentFile(Path("/home/x/agents/coder.md"), TEXT, "Fix.\n\nKeep patches small.\nSay why.")


def test_w31_the_line_is_that_of_the_first_difference_below_the_keys() -> None:
    sent = "About the studio.\nFix.\n\nKeep patches small.\nSay why.\n"
    assert line_of(FILE, sent, sent) == 6, "not the description's"
    assert line_of(FILE, sent, "About the studio.\nFix.\n\nKeep them small.\nSay why.\n") == 8
    assert line_of(FILE, sent, "About the studio.\nFix.\n\nKeep patches small.\n") == 9
    assert not line_of(FILE, sent, sent.replace("About", "Of")), "not of the file"
    twice = AgentFile(FILE.path, f"{TEXT}Fix.\n", f"{FILE.instructions}\nFix.")
    assert not line_of(twice, f"{sent}Fix.\n", sent), "it stands there twice"
    assert where({"code": FILE}, "code", "", sent.removeprefix("About the studio.\n")) == (
        "agents/coder.md",
        6,
    )
    assert where({"code": FILE}, "test", "", sent) == ("", 0)
