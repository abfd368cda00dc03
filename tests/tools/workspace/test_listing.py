"""Which files a person is offered: those of the folder that git does not ignore."""

from __future__ import annotations

from pathlib import Path

from studio.tools.workspace.listing import list_names


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def test_names_that_git_ignores_are_left_out(tmp_path: Path) -> None:
    """Anchored and other patterns, folders, negation, classes, stars over folders, nested files."""
    write(
        tmp_path, "a.py", "a.pyc", "a.pyo", "keep.log", "b.log", "out/x", "sub/out/y", "docs/a/b/c.tmp",
        "docs/c.tmp", "sub/b.log", "sub/deep/only", "sub/deep/all/z", "node_modules/m/i.js",
        "!odd", "local.cfg",
    )  # fmt: skip
    (tmp_path / ".gitignore").write_text(
        "# words\n*.py[co]\n*.log\n!keep.log\n/out/\ndocs/**/*.tmp\n\\!odd\nsub/deep/all/**\n"
    )
    (tmp_path / "sub" / ".gitignore").write_text("!b.log\n/deep/only  \n")
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("local.cfg\n")
    assert list_names(tmp_path, 100, 60) == [
        ".gitignore", "a.py", "docs/", "keep.log", "sub/", "docs/a/", "sub/.gitignore", "sub/b.log",
        "sub/deep/", "sub/out/", "docs/a/b/", "sub/deep/all/", "sub/out/y",
    ]  # fmt: skip
    assert list_names(tmp_path / "docs" / "a", 100, 60) == ["b/"]  # the repository's file counts
    assert list_names(tmp_path, 2, 60) == [".gitignore", "a.py"]
    assert list_names(tmp_path / "gone", 2, 60) == []


def test_links_and_names_that_nobody_can_read_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "secret/key", "work/a\nb", "work/c")
    (tmp_path / "work" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "work" / "key").symlink_to(tmp_path / "secret" / "key")
    (tmp_path / "work" / ".gitignore").symlink_to(tmp_path / "secret" / "key")
    assert list_names(tmp_path / "work", 100, 60) == ["c"]


def test_a_hostile_pattern_takes_no_time(tmp_path: Path) -> None:
    """One expression of a hundred stars would try for ever how to share a name among them."""
    write(tmp_path, "a" * 200)
    (tmp_path / ".gitignore").write_text("*a" * 100 + "b\n" + "**/" * 100 + "b\n[\n\\\n//\n")
    assert list_names(tmp_path, 100, 600) == [".gitignore", "a" * 200]
