"""What a folder brings is found wherever it may be, and not looked for below what is not there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from studio.agent.folder_files import (
    AGENT_PLACES,
    COMMAND_PLACES,
    PROJECT_CHECKS,
    PROJECT_HOOKS,
    PROJECT_PERMISSIONS,
    SERVER_FILES,
    SKILL_PLACES,
    read_folder_files,
)

FILES = (
    PROJECT_PERMISSIONS,
    PROJECT_CHECKS,
    PROJECT_HOOKS,
    *SERVER_FILES,
    *(place / f"one{ending}" for place, ending in AGENT_PLACES),
    *(place / "one" for place in (*SKILL_PLACES, *COMMAND_PLACES)),
)


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("file", FILES, ids=Path.as_posix)
def test_each_file_is_found_where_it_is_the_only_one(
    file: Path, linked: bool, tmp_path: Path
) -> None:
    """K-3: whoever is asked for trust is told of all of them; a link may lead to them."""
    folder = tmp_path / "folder"
    folder.mkdir()
    assert read_folder_files(folder).empty
    there = tmp_path / "elsewhere" / file if linked else folder / file
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_text("words")
    if linked:
        (folder / file.parts[0]).symlink_to(tmp_path / "elsewhere" / file.parts[0])
    found = read_folder_files(folder)
    assert not found.empty
    told = found.digest != read_folder_files(tmp_path / "none").digest
    assert told is (file.parent not in (*SKILL_PLACES, *COMMAND_PLACES))


def test_nothing_is_listed_in_a_folder_that_brings_nothing(tmp_path: Path) -> None:
    """Each message has its folder looked at, and most folders have nothing for agents."""
    listed: list[str] = []
    looking = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if looking and event == "os.scandir":
            listed.append(str(arguments[0]))

    sys.addaudithook(watch)  # cannot be taken back
    read_folder_files(tmp_path)
    before = [one for one in listed if one.startswith(str(tmp_path))]
    (tmp_path / ".agents").mkdir()
    read_folder_files(tmp_path)
    looking = False
    assert not before and listed  # what is there is looked into
