"""Reading in what an office had elsewhere: told first, done, and undone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from studio.simulator import Text, Turn
from support.engine_home import engine_home
from support.office_home import service, switch_on


async def test_a_folder_is_read_in_and_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-51: dry run, report, duplicates by digest, undo without what changed; what is broken, huge,
    hidden, or leads elsewhere stops nothing and is not copied."""
    source = tmp_path / "alt"
    (source / "Gericht").mkdir(parents=True)
    (source / "Brief.txt").write_text("Ein Brief über Fristen.")
    (source / "Gericht" / "Urteil.txt").write_text("Das Urteil.")
    (source / "Gericht" / "Kopie.txt").write_text("Das Urteil.")
    (source / "Mail.eml").write_bytes(b"Subject: Termin\nFrom: a@b.example\n\nMorgen um zehn.\n")
    (source / "kaputt.docx").write_bytes(b"PK\x03\x04 kein Word")
    (source / ".versteckt").write_text("x")
    (source / "Link.txt").symlink_to("/etc/hostname")
    with (source / "gross.bin").open("wb") as file:
        os.truncate(file.fileno(), 51_000_000)
    async with engine_home(tmp_path, "openai-compatible", [Turn(Text("Gut."))]) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        akte = service(pack, "Akten").open(pack.person, "Wagner ./. Holzbau")
        documents = service(pack, "Dokumente")

        async def told(*words: str) -> str:
            assert await home.command("packs", "run", "kanzlei", *words) == 0
            return capsys.readouterr().out

        said = await told("einlesen", akte.az, str(source), "--probe")
        assert said.startswith("4 neu, 1 schon da\n") and "gross.bin ist größer als 50 MB" in said
        assert documents.find(akte) == []
        said = await told("einlesen", akte.az, str(source))
        assert said.startswith("4 eingelesen, 1 schon da. Zurücknehmen") and "kaputt.docx" in said
        found = {f"{one.folder}/{one.name}": one for one in documents.find(akte)}
        assert set(found) == {"/Brief.txt", "/Mail.eml", "/kaputt.docx", "Gericht/Kopie.txt"}
        assert "Morgen um zehn" in found["/Mail.eml"].begin
        assert service(pack, "Suche").find(pack.person, "Frist")
        assert (await told("einlesen", akte.az, str(source))).startswith("0 eingelesen, 5 schon da")

        place = documents.folder_of(akte)
        (place / "Brief.txt").write_text("Von Hand geändert.")
        said = await told("einlesung-zurueck", "1")
        assert "3 Dokumente zurückgenommen" in said and "Brief.txt wurde seither geändert" in said
        assert [one.name for one in documents.find(akte)] == ["Brief.txt"]
        assert [one.name for one in place.rglob("*.*")] == ["Brief.txt"]
        assert (source / "Brief.txt").exists(), "the source stays"
        assert await home.command("packs", "run", "kanzlei", "einlesung-zurueck", "1") != 0
