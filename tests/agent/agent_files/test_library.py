"""Agent files are saved whole or not at all, and nothing is lost: unsaved texts, the trash."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from studio.agent.agent_files.library import AgentLibrary, DraftConflict, UnsavedText
from studio.domain.errors import ConfigurationError

SECRET = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def library(tmp_path: Path) -> AgentLibrary:
    return AgentLibrary(tmp_path / "own", tmp_path / "data")


def test_a_file_is_saved_to_the_letter_and_only_as_it_was_read(library: AgentLibrary) -> None:
    path = library.unused_path("Proof: Reader")
    assert path.name == "proof-reader.md" and library.read(path) is None
    text = "\ufeff---\r\nname: é🙂\u00a0\n---\rDo."
    first = library.save(path, text, None)
    assert path.read_bytes() == text.encode() and first == library.read(path)
    assert library.unused_path("proof reader").name == "proof-reader-2.md"
    with pytest.raises(DraftConflict):
        library.save(path, "new", None)
    path.write_text("of another program")
    with pytest.raises(DraftConflict, match="changed on disk"):
        library.save(path, "mine", first.stamp)
    assert path.read_text() == "of another program"
    seen = library.read(path)
    assert seen is not None
    library.save(path, "mine", seen.stamp)
    assert [one.name for one in library.own.iterdir()] == ["proof-reader.md"]
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        library.read(path)
    path.write_bytes(b"x" * 200_001)
    with pytest.raises(ConfigurationError, match="too large"):
        library.read(path)


def test_a_deleted_file_comes_back_but_takes_no_place(library: AgentLibrary) -> None:
    path = library.own / "a.md"
    library.save(path, "A", None)
    gone = library.discard(path)
    assert not path.exists() and gone.kept.read_text() == "A"
    library.save(path, "B", None)
    with pytest.raises(DraftConflict):
        library.restore(gone)
    assert path.read_text() == "B" and gone.kept.read_text() == "A"
    path.unlink()
    library.restore(gone)
    assert path.read_text() == "A" and not gone.kept.exists()


def test_unsaved_texts_are_kept_without_secrets(library: AgentLibrary, tmp_path: Path) -> None:
    one = UnsavedText(library.own / "a.md", "before", "---\nname: é\r\n")
    library.keep_unsaved(one)
    assert library.unsaved() == {one.path: one}
    for secret in (
        UnsavedText(one.path, "before", f"key: {SECRET}"),
        UnsavedText(one.path, f"key: {SECRET}", "after"),
    ):
        library.keep_unsaved(secret)
        assert library.unsaved() == {one.path: secret}, "it lives as long as the program"
        assert AgentLibrary(library.own, tmp_path / "data").unsaved() == {}
        assert not any(SECRET.encode() in file.read_bytes() for file in tmp_path.rglob("*.json"))
    library.keep_unsaved(one)
    assert library.unsaved() == {one.path: one}
    (file,) = (tmp_path / "data" / "unsaved-agents").iterdir()
    library.forget_unsaved(one.path)
    assert library.unsaved() == {}
    file.write_text('{"path": 3}')
    assert library.unsaved() == {}


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_of_the_persons_own_stays_one(library: AgentLibrary, tmp_path: Path) -> None:
    """Settings are often kept in a repository; a folder's links are not followed."""
    target = tmp_path / "settings" / "a.md"
    target.parent.mkdir()
    target.write_text("A")
    library.own.mkdir()
    link = library.own / "a.md"
    link.symlink_to(target)
    seen = library.read(link)
    assert seen is not None
    library.save(link, "B", seen.stamp)
    assert link.is_symlink() and target.read_text() == "B"
    strange = tmp_path / "a.md"
    strange.symlink_to(target)
    with pytest.raises(DraftConflict, match="no ordinary file"):
        library.read(strange)
