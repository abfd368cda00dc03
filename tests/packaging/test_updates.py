"""The release signs the file that installed programs ask for; the private key stays outside."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.agent.updates import PRODUCT, verified

ROOT = Path(__file__).parents[2]


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    yield
    for name in set(sys.modules) - before:
        if str(ROOT / "packaging") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_what_the_release_signs_the_program_believes(makers: None, tmp_path: Path) -> None:
    """I-10: the key is made into a file that the repository does not have."""
    from definition import definition
    from updates import make_key, signed

    assert definition().command == PRODUCT
    assert definition().updates.address.startswith("https://")
    root = tmp_path / "repository"
    (root / "studio").mkdir(parents=True)
    for name in ("pyproject.toml", "studio/__init__.py"):
        shutil.copy(ROOT / name, root / name)
    with pytest.raises(SystemExit, match="no private key may be"):
        make_key(root / "key", root)
    private = tmp_path / "key"
    public = make_key(private, root)
    assert private.stat().st_mode & 0o077 == 0 or sys.platform == "win32"
    about = definition(root)
    assert about.updates.keys[-1] == public
    found = verified(signed(about, private.read_text().strip()).encode(), about.updates.keys)
    assert (found.version, about.version in found.page) == (about.version, True)
    with pytest.raises(FileExistsError):
        make_key(private, root)
    make_key(tmp_path / "stranger", tmp_path / "repository")
    with pytest.raises(SystemExit, match="not the private part"):
        signed(about, (tmp_path / "stranger").read_text().strip())
