"""Script heads: what a file says that it needs, as in PEP 723 (X-3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.tools.script_head import python_versions, read_head

HEAD = "# /// script\n{lines}\n# ///\n"


@pytest.mark.parametrize(
    ("lines", "needs", "python", "wrong"),
    [
        ('# dependencies = ["rich", "httpx<1"]', ("rich", "httpx<1"), ">=3.11", False),
        ('# requires-python = ">=3.12, <3.15"', (), ">=3.11,>=3.12,<3.15", False),
        ('# requires-python = "==3.12.*"', (), ">=3.11,==3.12.*", False),
        ('# requires-python = "3.12 --with evil"', (), ">=3.11", True),
        ("# requires-python = 3", (), ">=3.11", True),
        ('# dependencies = ["--index-url=x", "rich"]', ("rich",), ">=3.11", True),
        ("# dependencies = [", (), ">=3.11", True),
    ],
)
def test_x3_a_head_says_packages_and_versions(
    tmp_path: Path, lines: str, needs: tuple[str, ...], python: str, wrong: bool
) -> None:
    """X-3: nothing in it becomes an option of uv."""
    file = tmp_path / "a.py"
    file.write_text(HEAD.format(lines=lines))
    head = read_head(file)
    assert head is not None and head.needs == needs and head.wrong == wrong
    assert python_versions((head,)) == python


def test_x3_a_file_without_a_head_is_plain(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    assert read_head(file) is None  # not there
    file.write_text("# /// script\nprint(1)\n")
    assert read_head(file) is None
    file.write_text(HEAD.format(lines="# dependencies = []"))
    assert read_head(file) is not None, "it is read again when it changes"
