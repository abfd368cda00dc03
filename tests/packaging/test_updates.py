"""The release signs the file that installed programs ask for; the private key stays outside."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.agent.updates import PRODUCT, Newest, Unsigned, verified

ROOT = Path(__file__).parents[2]


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules of the folder ``packaging`` can be imported, where OpenSSL is as they need it."""
    try:
        told = subprocess.run(["openssl", "version"], capture_output=True, text=True, check=True)
    except OSError:
        pytest.skip("OpenSSL is not installed")
    if not told.stdout.startswith("OpenSSL 3") or sys.platform == "win32":
        pytest.skip("OpenSSL 3, and standard input as a file, is what release.sh needs")
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    yield
    for name in set(sys.modules) - before:
        if str(ROOT / "packaging") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of its own, in which keys are made known."""
    made = tmp_path / "repository"
    (made / "studio").mkdir(parents=True)
    for name in ("pyproject.toml", "studio/__init__.py"):
        shutil.copy(ROOT / name, made / name)
    return made


def test_what_the_release_signs_the_program_believes(
    makers: None, root: Path, tmp_path: Path
) -> None:
    """I-10: the key is made into a file that the repository does not have."""
    from definition import definition
    from updates import make_key, signed

    assert definition().command == PRODUCT
    assert definition().updates.address.startswith("https://")
    with pytest.raises(SystemExit, match="no private key may be"):
        make_key(root / "key", root)
    private = tmp_path / "key"
    public = make_key(private, root)
    assert private.stat().st_mode & 0o077 == 0
    about = definition(root)
    assert about.updates.keys[-1] == public
    found = verified(signed(about, [private.read_text().strip()]).encode(), about.updates.keys)
    assert (found.version, about.version in found.page) == (about.version, True)
    assert found.date
    with pytest.raises(FileExistsError):
        make_key(private, root)
    make_key(tmp_path / "stranger", root)
    with pytest.raises(SystemExit, match="not the private part"):
        signed(about, [(tmp_path / "stranger").read_text().strip()])
    for damaged in ("x", "eA=="):
        with pytest.raises(SystemExit, match="no key: a key is 32 bytes"):
            signed(about, [damaged])


def test_a_key_is_changed_without_cutting_anybody_off(
    makers: None, root: Path, tmp_path: Path
) -> None:
    """I-10: both keys sign, and who knows one of them believes it, whichever version that is."""
    from definition import definition
    from updates import make_key, signed

    old, new = make_key(tmp_path / "old", root), make_key(tmp_path / "new", root)
    about = definition(root)
    private = [(tmp_path / name).read_text().strip() for name in ("old", "new")]
    content = signed(about, private).encode()
    for known in ((old,), (new,), (old, new)):
        assert isinstance(verified(content, known), Newest)
    with pytest.raises(Unsigned):
        verified(signed(about, private[1:]).encode(), (old,))


def test_a_release_that_nobody_would_hear_of_fails(
    makers: None, root: Path, tmp_path: Path
) -> None:
    """I-10: with a public key, one without the private; a pre-release is told to nobody."""
    from definition import definition
    from updates import make_key, signed, write_signed

    file = tmp_path / "updates.json"
    assert "ask nobody" in write_signed(definition(ROOT), file, [])
    make_key(tmp_path / "key", root)
    private = [(tmp_path / "key").read_text().strip()]
    with pytest.raises(SystemExit, match="There is no UPDATE_KEY"):
        write_signed(definition(root), file, [])
    (root / "studio" / "__init__.py").write_text('__version__ = "9.0.0rc1"\n')
    assert "pre-release" in write_signed(definition(root), file, private)
    with pytest.raises(SystemExit, match="everybody"):
        signed(definition(root), private)
    assert not file.exists()
    (root / "studio" / "__init__.py").write_text('__version__ = "9.0.0"\n')
    assert "9.0.0" in write_signed(definition(root), file, private) and file.is_file()
