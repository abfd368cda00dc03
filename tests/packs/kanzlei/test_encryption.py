"""The records of the office, encrypted with a key in the keychain (KZ-44)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from studio.cli.doctor.local_checks import LocalChecks
from studio.storage.pack_key import new_key, on_paper
from support import drawer
from support.engine_home import EngineHome, engine_home
from support.office_home import service, switch_on

pytest.importorskip("sqlcipher3", reason="the extra encryption is not installed")

SECRET = "Wagner ./. Holzbau Süd"
NAME = ("agent-studio", "pack kanzlei")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", drawer.NAME)
    drawer.KEPT.clear()
    return drawer.KEPT


def shows(folder: Path) -> list[str]:
    """The files in which the words stand."""
    whole = SECRET.encode()
    return [one.name for one in folder.rglob("*") if one.is_file() and whole in one.read_bytes()]


def found(home: EngineHome) -> str:
    return LocalChecks(home.engine.paths).packs().text


async def test_kz44_the_office_is_encrypted_locked_and_opened_again(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kept: dict[tuple[str, str], str],
) -> None:
    """By commands; everything works, backup and restore too; a missing key and a wrong one are told
    in German, and nothing is lost. Not encrypted is the usual way."""

    async with engine_home(tmp_path, "openai-compatible", []) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        akte = service(pack, "Akten").open(pack.person, SECRET)
        folder = pack.settings_file.parent
        assert shows(folder), "plain as it is"

        async def told(*words: str, code: int = 0) -> str:
            assert await home.command("packs", *words) == code
            said = capsys.readouterr()
            return said.out + said.err

        backup = tmp_path / "vorher.zip"
        await told("run", "kanzlei", "backup", str(backup))
        said = await told("encrypt", "kanzlei")
        key = kept[NAME]
        assert on_paper(key) in said and "Notfallblatt" in said and "Festplatte" in said
        assert not shows(folder) and "Holzbau" in await told("run", "kanzlei", "akten")
        assert service(pack, "Suche").find(pack.person, "Wagner") == []
        assert "encrypted" not in found(home) and on_paper(key) in await told(
            "key", "kanzlei", "--show"
        )
        after = tmp_path / "nachher.zip"
        await told("run", "kanzlei", "backup", str(after))
        await told("run", "kanzlei", "restore", str(backup), "--ersetzen")
        await told("run", "kanzlei", "restore", str(after), "--ersetzen")
        assert service(pack, "Akten").get(pack.person, akte.az).rubrum == SECRET
        assert not shows(folder)

    kept.clear()
    async with engine_home(tmp_path, "openai-compatible", []) as home:
        pack = switch_on(home)
        said = await told("run", "kanzlei", "akten", code=1)
        assert "nicht im Schlüsselbund" in said and "not in the keychain" in found(home)

        async def typed(text: str, code: int) -> str:
            (tmp_path / "typed").write_text(text)
            with (tmp_path / "typed").open() as file:
                monkeypatch.setattr(sys, "stdin", file)
                return await told("key", "kanzlei", code=code)

        assert "nicht der Schlüssel" in await typed(on_paper(new_key()), 1)
        assert "72 Ziffern" in await typed(on_paper(key)[:-1], 1)
        assert not kept
        await typed(on_paper(key), 0)
        assert kept[NAME] == key and "Holzbau" in await told("run", "kanzlei", "akten")

        await told("decrypt", "kanzlei", "--yes")
        assert shows(folder) and "Holzbau" in await told("run", "kanzlei", "akten")
        assert "not encrypted" in await told("key", "kanzlei", "--show", code=1)
