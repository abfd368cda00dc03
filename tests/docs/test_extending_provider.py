"""The page on adding a provider is followed word by word, in a copy of the program."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

from support.command import Command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending" / "provider.md").read_text("utf-8")
FILE = re.compile(r"^```python\n# (studio/\S+)\n(.*?)^```", re.M | re.S)
LINE = re.compile(r"^Add the folder to `(\w+)` in `([^`]+)`:\n\n```text\n(.*?)^```", re.M | re.S)


def follow_the_page(place: Path) -> Path:
    """A copy of the program with the page's files and its one line."""
    copy = place / "program"
    shutil.copytree(
        ROOT / "studio", copy / "studio", ignore=shutil.ignore_patterns("__pycache__", "ui")
    )
    (copy / "resources").symlink_to(ROOT / "resources")
    for path, text in FILE.findall(PAGE):
        file = copy / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    [(table, path, line)] = LINE.findall(PAGE)
    file = copy / path
    before = file.read_text("utf-8")
    end = before.index("\n)\n", before.index(f"{table} = ("))
    file.write_text(f"{before[:end]}\n{line.rstrip()}{before[end:]}", "utf-8")
    return copy


async def test_a_provider_is_its_folder_and_one_line(tmp_path: Path) -> None:
    command = Command(tmp_path, PYTHONPATH=str(follow_the_page(tmp_path)))
    [commands] = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    listing, run = (shlex.split(line)[1:] for line in commands.splitlines())
    listed = await command(*listing)
    assert listed.code == 0, listed.err
    assert "echo-1" in listed.out
    answered = await command(*run)
    assert answered.code == 0, answered.err
    assert "Is anybody there?" in answered.out
    checked = await command("doctor", "--offline")
    assert re.search(r"Echo\b.*not asked", checked.out), checked.out
    wrong = await command("run", "--provider", "nobody", "Hello")
    assert re.search(r"\becho\b", wrong.err), wrong.err
