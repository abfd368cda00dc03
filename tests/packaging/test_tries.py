"""What the trials of packages look at, and that a strict one leaves out nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MAKERS = Path(__file__).parents[2] / "packaging"


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module ``try_linux`` of the folder ``packaging``, whose modules are run as scripts."""
    before = set(sys.modules)
    monkeypatch.delenv("STRICT", raising=False)
    monkeypatch.syspath_prepend(str(MAKERS))
    import try_linux

    yield try_linux
    for name in set(sys.modules) - before:
        if str(MAKERS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_what_cannot_be_tried_is_named_and_an_error_where_it_is_asked_for(
    tries: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """I-2: STRICT=1, as of a release."""
    assert not tries.is_here("no-such-program")
    assert "not tried, no-such-program is not installed" in capsys.readouterr().out
    monkeypatch.setenv("STRICT", "1")
    with pytest.raises(SystemExit, match="no-such-program is not installed"):
        tries.is_here("no-such-program")
    assert tries.is_here(sys.executable)


@pytest.mark.skipif(shutil.which("ar") is None, reason="binutils are not installed")
def test_a_package_above_its_goal_is_an_error_where_it_is_asked_for(
    tries: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """I-2: the light one has 52 MB at most. A package packed in haste says nothing of its size."""
    monkeypatch.setenv("STRICT", "1")

    def packed(name: str, size: int) -> Path:
        part, deb = tmp_path / name, tmp_path / f"{name}-light_1_amd64.deb"
        part.touch()
        os.truncate(part, size)
        subprocess.run(["ar", "rc", deb, part], check=True)
        return deb

    with pytest.raises(SystemExit, match=r"has 52\.0 MB, and is to have 52 at most"):
        tries.look_at_deb(packed("data.tar.xz", 52_000_001))
    with pytest.raises(SystemExit, match="is not by xz"):
        tries.look_at_deb(packed("data.tar.zst", 1))


def test_a_start_that_cannot_encrypt_is_an_error_everywhere(tries: Any) -> None:
    """KZ-44: in the bare Debian as at a desk."""
    told = "smoke: turn: Simulator: 3 words\nsmoke: encryption: SQLCipher 4.9\n"
    tries.check_smoke(told, "it")
    for gone in ("smoke: turn: ", "SQLCipher"):
        with pytest.raises(SystemExit, match="it does not say"):
            tries.check_smoke(told.replace(gone, ""), "it")
    assert "check_smoke(" in (MAKERS / "try_debian.py").read_text("utf-8")


def test_the_persons_data_are_compared_by_what_is_in_them(tries: Any, tmp_path: Path) -> None:
    """I-2: an emptied database has its name still."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "studio.db").write_text("chats")
    (tmp_path / "logs" / "studio.log").write_text("log")
    before = tries.digests(tmp_path)
    assert sorted(before) == ["logs/studio.log", "studio.db"]
    tries.check_kept(before, tmp_path)
    (tmp_path / "studio.db").write_text("")
    with pytest.raises(SystemExit, match=r"studio\.db"):
        tries.check_kept(before, tmp_path)
    (tmp_path / "studio.db").unlink()
    with pytest.raises(SystemExit, match=r"studio\.db"):
        tries.check_kept(before, tmp_path)
    with pytest.raises(SystemExit):  # nothing to lose proves nothing
        tries.check_kept({}, tmp_path / "logs")
