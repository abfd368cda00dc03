"""The page on adding a provider is followed word by word, in a copy of the program."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from support.command import Command
from support.extending import ROOT, copy_with, steps

PAGE = (ROOT / "docs" / "extending" / "provider.md").read_text("utf-8")


def test_a_provider_is_its_folder_and_two_lines() -> None:
    folder = {step.path for step in steps("provider.md") if step.kind == "Write"}
    lines = [step for step in steps("provider.md") if step.kind == "Add"]
    assert {Path(path).parent.name for path in folder} == {"echo"} and len(folder) == 3
    assert [line.code.count("\n") for line in lines] == [1, 1]


async def test_the_toy_answers(tmp_path: Path) -> None:
    command = Command(tmp_path, PYTHONPATH=str(copy_with("provider.md", tmp_path)))
    [commands] = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    listing, run = (
        shlex.split(line.removeprefix(".venv/bin/python -m studio "))
        for line in commands.splitlines()
    )
    listed = await command(*listing)
    assert listed.code == 0, listed.err
    assert "echo-1" in listed.out
    answered = await command(*run)
    assert answered.code == 0, answered.err
    assert "Is anybody there?" in answered.out.split("\n")  # no space at its end
    checked = await command("doctor", "--offline")
    assert re.search(r"Echo\b.*not asked", checked.out), checked.out
    wrong = await command("run", "--provider", "nobody", "Hello")
    assert re.search(r"\becho\b", wrong.err), wrong.err
