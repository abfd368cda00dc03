"""Skills from elsewhere are copied to the person's own, and replace none (K-4)."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.extensions.skill_importing import import_skills


def skill(place: Path, text: str = "Do.") -> Path:
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(f"---\ndescription: About.\n---\n{text}")
    return place


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_k4_a_folder_of_skills_is_copied_and_nothing_replaced(tmp_path: Path) -> None:
    """K-4: links that lead out stay behind, wrong names are told, originals stay."""
    source, own = tmp_path / "other", tmp_path / "own"
    one = skill(source / "group" / "one")
    (one / "deep").mkdir()
    (one / "deep" / "list.txt").write_text("a")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (one / "link").symlink_to(secret)
    skill(source / "Bad Name")
    skill(source / "known", "Theirs.")
    skill(own / "known", "Mine.")
    done = import_skills(source, own)
    assert done.names == ("one",)
    assert names(own) == ["known", "one"] and names(own / "one") == ["SKILL.md", "deep"]
    assert "Mine." in (own / "known" / "SKILL.md").read_text()
    told = " | ".join(done.problems)
    assert "Bad Name: a skill’s folder has a name" in told
    assert "known: a skill of this name is there already." in told
    assert "one: link: a link leads out" in told
    assert (one / "link").is_symlink()


def test_k4_one_skill_comes_from_its_folder_or_a_zip_file(tmp_path: Path) -> None:
    """K-4: what packs the folder, and what packs only the files in it."""
    one = skill(tmp_path / "one")
    assert import_skills(one, tmp_path / "own").names == ("one",)
    for file, name in (("two.zip", "SKILL.md"), ("Pack.skill", "three/SKILL.md")):
        with zipfile.ZipFile(tmp_path / file, "w") as packed:
            packed.write(one / "SKILL.md", name)
        import_skills(tmp_path / file, tmp_path / "own")
    assert names(tmp_path / "own") == ["one", "three", "two"]


@pytest.mark.parametrize("what", ["nothing", "a text", "a folder"])
def test_k4_what_has_no_skill_is_said_to_have_none(tmp_path: Path, what: str) -> None:
    source = tmp_path / "source"
    if what == "a text":
        source.write_text("no zip")
    elif what == "a folder":
        source.mkdir()
    with pytest.raises(ConfigurationError, match="source"):
        import_skills(source, tmp_path / "own")
    assert not (tmp_path / "own").exists()
