"""Packs of distributions: found by their metadata, and run once they are approved (X-4)."""

from __future__ import annotations

import os
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from studio.app import build
from studio.extensions.packs import brought
from studio.extensions.packs.brought import brought_packs
from studio.extensions.packs.installed import InstalledPacks
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from support.pack_home import PACKS


def install_distribution(place: Path) -> Path:
    """A distribution as an installer leaves it; returns the pack's folder."""
    package = place / "notes_pack"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('it was imported')")
    (package / "plugin.json").write_text((PACKS / "notes" / "plugin.json").read_text("utf-8"))
    tools = package / "org.agent-studio" / "tools"
    tools.mkdir(parents=True)
    (tools / "one.py").write_text(
        "from studio.packs import Context, tool\n"
        "@tool(effect='read')\ndef greet(context: Context) -> str:\n    '''Greet.'''\n"
        "    return 'Hello'\n"
    )
    info = place / "notes_pack-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: notes-pack\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[agent_studio.packs]\nnotes = notes_pack\n")
    return package


async def test_a_distribution_runs_once_it_is_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X-4: and no more when it is another version than the person approved."""
    package = install_distribution(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    paths = Paths.below(tmp_path / "studio")
    engine = await build(paths, SettingsFile(paths.settings))
    try:
        installed = engine.services.get(InstalledPacks)
        pack = installed.get("notes")
        assert pack.origin.shown == "distribution notes-pack 1.2" and not pack.runs
        assert "greet" not in engine.tools()
        installed.approve("notes", installed.get("notes").digest)
        await engine.refresh_tools()
        assert "greet" in engine.tools()
        (package / "org.agent-studio" / "tools" / "one.py").write_text("raise SystemExit")
        await engine.refresh_tools()
        assert "greet" not in engine.tools()
        assert not any(name.startswith("notes_pack") for name in sys.modules)
    finally:
        await engine.close()


def test_distributions_are_read_again_when_one_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X-4: and only then, as each turn asks for the packs many times."""
    place = tmp_path / "site"
    place.mkdir()
    os.utime(place, ns=(0, 0))  # what comes later has another time
    monkeypatch.syspath_prepend(place)
    reads: list[int] = []

    def counted() -> object:
        reads.append(1)
        return distributions()

    monkeypatch.setattr(brought, "distributions", counted)
    shipped = tmp_path / "none"
    assert [*brought_packs(shipped)] == [*brought_packs(shipped)] == []
    assert len(reads) == 1
    package = install_distribution(place)
    assert [one.folder for one in brought_packs(shipped)] == [package]
    assert len(reads) == 2
