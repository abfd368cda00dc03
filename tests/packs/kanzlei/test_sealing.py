"""The files of an Akte that rests, in one encrypted file (KZ-44)."""

from __future__ import annotations

import errno
import importlib
import json
import multiprocessing
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from studio.domain.errors import ToolFailed
from studio.extensions.packs.loading import forget, load_code, package_of
from studio.simulator import Call, Text, Turn
from support import drawer
from support.engine_home import engine_home, say
from support.office_home import service, switch_on

from .conftest import PACK

KEY = b"k" * 32
WORDS = "Wagner ./. Holzbau Süd"
FILES = {
    "Klage.txt": WORDS.encode(),
    "Gericht/Urteil ß.txt": b"x" * 300_000,
    "Gericht/leer.txt": b"",
    ".verborgen": b"1",
}


@pytest.fixture(scope="module")
def sealing() -> Iterator[ModuleType]:
    load_code("kanzlei", PACK / "org.agent-studio")
    yield importlib.import_module(f"{package_of('kanzlei')}.tools.office.sealing")
    forget("kanzlei")


def made(folder: Path) -> Path:
    for name, data in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    paths = [one for one in folder.rglob("*") if one.is_file()]
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in paths}


def names(folder: Path) -> list[str]:
    """What is in a folder, but for locks."""
    return [one.name for one in folder.iterdir() if not one.name.endswith(".lock")]


def shows(folder: Path) -> list[str]:
    return [one.name for one in folder.rglob("*")
            if one.is_file() and WORDS.encode() in one.read_bytes()]  # fmt: skip


def test_kz44_a_folder_is_sealed_and_opened(tmp_path: Path, sealing: Any) -> None:
    """All files come back with their times; another key and a changed file leave all as it is; a
    link is refused, because what is behind it would be lost."""
    folder = made(tmp_path / "0001-26")
    os.utime(folder / "Klage.txt", (1e9, 1e9))
    assert sealing.seal_folder(folder, KEY) == len(FILES)
    assert not folder.exists() and sealing.is_sealed(folder) and not shows(tmp_path)
    assert names(tmp_path) == ["0001-26.verschlossen"]
    with pytest.raises(ToolFailed, match="anderen Schlüssel"):
        sealing.open_folder(folder, b"x" * 32)
    sealed = sealing.sealed_of(folder)
    whole = sealed.read_bytes()
    sealed.write_bytes(whole[:-20])
    with pytest.raises(ToolFailed, match="beschädigt"):
        sealing.open_folder(folder, KEY)
    assert names(tmp_path) == ["0001-26.verschlossen"]
    sealed.write_bytes(whole)
    assert sealing.open_folder(folder, KEY) == len(FILES)
    assert read(folder) == FILES and (folder / "Klage.txt").stat().st_mtime == 1e9
    assert names(tmp_path) == ["0001-26"]
    (folder / "Verweis").symlink_to(tmp_path)
    with pytest.raises(ToolFailed, match="Verknüpfung"):
        sealing.seal_folder(folder, KEY)
    assert (folder / "Klage.txt").exists() and not sealed.exists()


def test_kz44_sealing_keeps_empty_folders_rights_and_files_with_two_names(
    tmp_path: Path, sealing: Any
) -> None:
    """What is a second name of a file on the disk, as after a clean-up, comes back as a file."""
    folder = made(tmp_path / "0001-26")
    os.link(folder / "Klage.txt", folder / "Gericht" / "Klage.txt")
    (folder / "Später" / "Anlagen").mkdir(parents=True)
    folder.chmod(0o750)
    (folder / "Klage.txt").chmod(0o640)
    (folder / "Gericht").chmod(0o750)
    assert sealing.seal_folder(folder, KEY) == len(FILES) + 1
    assert sealing.open_folder(folder, KEY) == len(FILES) + 1
    assert read(folder) == FILES | {"Gericht/Klage.txt": WORDS.encode()}
    assert (folder / "Später" / "Anlagen").is_dir()
    if os.name == "posix":
        rights = {
            one: (folder / one).stat().st_mode & 0o777 for one in (".", "Klage.txt", "Gericht")
        }
        assert rights == {".": 0o750, "Klage.txt": 0o640, "Gericht": 0o750}


def test_kz44_a_file_that_is_open_elsewhere_or_a_folder_that_is_a_link_is_not_sealed(
    tmp_path: Path, sealing: Any
) -> None:
    """A program that has a file open would save it into a folder that is gone; what is behind a
    link would stay open."""
    folder = made(tmp_path / "0001-26")
    for name in (".~lock.Klage.odt#", "~$Klage.docx"):
        (folder / "Gericht" / name).write_bytes(b"1")
        with pytest.raises(ToolFailed, match="noch eine Datei offen") as told:
            sealing.seal_folder(folder, KEY)
        assert f"Gericht/{name}" in str(told.value)
        (folder / "Gericht" / name).unlink()
    link = tmp_path / "0002-26"
    link.symlink_to(folder)
    with pytest.raises(ToolFailed, match="Verknüpfung"):
        sealing.seal_folder(link, KEY)
    with pytest.raises(ToolFailed, match="keine Datei"):
        sealing.seal_folder(tmp_path / "0003-26", KEY)
    assert read(folder) == FILES and sorted(names(tmp_path)) == ["0001-26", "0002-26"]


def test_kz44_what_cannot_be_deleted_is_told(
    tmp_path: Path, sealing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that stay open beside the sealed one are named, and no one hears that nothing was
    sealed."""
    folder = made(tmp_path / "0001-26")
    held = str(tmp_path / ".0001-26.offen" / "Klage.txt")
    unlink = os.unlink

    def refuse(path: Any, **more: Any) -> None:
        if "Klage.txt" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        unlink(path, **more)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(ToolFailed, match="ist verschlossen, aber") as told:
        sealing.seal_folder(folder, KEY)
    assert held in str(told.value) and sealing.sealed_of(folder).is_file()
    monkeypatch.undo()
    assert sealing.is_sealed(folder) and not shows(tmp_path)


def as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that may only be read are neither deleted nor replaced."""
    unlink, replace = os.unlink, os.replace

    def refuse(path: Any, dir_fd: int | None = None) -> None:
        if not os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode & stat.S_IWUSR:
            raise PermissionError(errno.EACCES, "Access is denied", path)

    def unlinked(path: Any, *, dir_fd: int | None = None) -> None:
        refuse(path, dir_fd)
        unlink(path, dir_fd=dir_fd)

    def replaced(source: Any, target: Any) -> None:
        if Path(target).exists():
            refuse(target)
        replace(source, target)

    monkeypatch.setattr(os, "unlink", unlinked)
    monkeypatch.setattr(os, "replace", replaced)


@pytest.mark.skipif(os.name == "nt", reason="it is so there")
def test_kz44_files_that_may_only_be_read_are_sealed_and_deleted_too(
    tmp_path: Path, sealing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows deletes none of them: no plain text is left beside the sealed file, nor anything of
    an Akte that is deleted; and they come back as they were."""
    as_on_windows(monkeypatch)
    folder = made(tmp_path / "0001-26")
    (folder / "Klage.txt").chmod(0o400)
    (folder / "Gericht").chmod(0o500)
    sealing.seal_folder(folder, KEY)
    assert not shows(tmp_path) and names(tmp_path) == ["0001-26.verschlossen"]
    made(folder)
    (folder / "Klage.txt").chmod(0o400)
    sealing.open_folder(folder, KEY)
    assert read(folder) == FILES and names(tmp_path) == ["0001-26"]
    assert (folder / "Klage.txt").stat().st_mode & 0o777 == 0o400
    for name in (".0001-26.offen", ".0001-26.neu"):
        (made(tmp_path / name) / "Klage.txt").chmod(0o400)
    sealing.delete_folder(folder)
    sealing.forget_sealed(folder)
    assert not names(tmp_path)


def test_kz44_an_akte_that_is_deleted_leaves_nothing_of_a_program_that_died(
    tmp_path: Path, sealing: Any
) -> None:
    """Neither half a sealed file nor files that were left open, sealed or not."""
    for name in (".0001-26.offen", ".0001-26.neu"):
        made(tmp_path / name)
    (tmp_path / ".0001-26.verschlossen.neu").write_bytes(b"1")
    sealing.forget_sealed(tmp_path / "0001-26")
    assert not list(tmp_path.iterdir())


def test_kz44_what_is_changed_meanwhile_is_not_sealed(
    tmp_path: Path, sealing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that another program writes while it is read stays in its folder, as written."""
    folder = made(tmp_path / "0001-26")
    same = sealing._same

    def changes(archive: Any, one: Any, path: Path) -> bool:
        (folder / "Klage.txt").write_bytes(b"neu")
        return same(archive, one, path)

    monkeypatch.setattr(sealing, "_same", changes)
    with pytest.raises(ToolFailed, match="gerade geändert"):
        sealing.seal_folder(folder, KEY)
    assert read(folder) == FILES | {"Klage.txt": b"neu"}
    assert names(tmp_path) == ["0001-26"]


def dies(step: int, work: Any, *arguments: object) -> None:
    """Do the work, and die at its step-th look at the disk."""
    count = 0

    def watch(event: str, _: object) -> None:
        nonlocal count
        if event in ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.utime"):
            count += 1
            if count == step:
                os._exit(9)

    sys.addaudithook(watch)
    work(*arguments)


def killed(step: int, work: Any, *arguments: object) -> bool:
    """Do the work in a child that dies on the way; whether it did."""
    child = multiprocessing.get_context("fork").Process(target=dies, args=(step, work, *arguments))
    child.start()
    child.join()
    assert child.exitcode in (0, 9)
    return child.exitcode == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a child that dies is made by fork")
def test_kz44_a_program_that_dies_loses_no_file(tmp_path: Path, sealing: Any) -> None:
    """Wherever it dies, the folder is whole, or the sealed file is; opening has all, each once."""
    for way in ("seal", "open"):
        step, died = 0, True
        while died:
            step += 1
            place = tmp_path / f"{way}{step}"
            folder = made(place / "0001-26")
            if way == "open":
                sealing.seal_folder(folder, KEY)
            died = killed(step, getattr(sealing, f"{way}_folder"), folder, KEY)
            if sealing.is_sealed(folder):
                assert not shows(place), "what was left open is gone with the first look"
            else:
                assert read(folder) == FILES
            if sealing.sealed_of(folder).exists():
                sealing.open_folder(folder, KEY)
            assert read(folder) == FILES, (way, step)
            if not died:
                break
            sealing.seal_folder(folder, KEY)
            assert not shows(place) and len(names(place)) == 1, (way, step)
        assert step > 10


def test_kz44_opening_beside_a_folder_loses_nothing(tmp_path: Path, sealing: Any) -> None:
    """Where both are there, as after a backup, a file that differs is kept twice."""
    folder = made(tmp_path / "0001-26")
    sealing.seal_folder(folder, KEY)
    made(folder)
    (folder / "Klage.txt").write_bytes(b"anders")
    (folder / ".verborgen").unlink()
    with pytest.raises(ToolFailed, match="Öffne die Akte zuerst"):
        sealing.seal_folder(folder, KEY)
    sealing.open_folder(folder, KEY)
    both = {"Klage.txt": b"anders", "Klage (verschlossen).txt": WORDS.encode()}
    assert read(folder) == FILES | both


async def test_kz44_the_files_of_an_akte_rest_encrypted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the key of the records alone; the text stays readable, what needs the files says how to
    open them and changes nothing; a backup takes them along, and the recovery sheet opens them."""
    pytest.importorskip("sqlcipher3", reason="the extra encryption is not installed")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", drawer.NAME)
    drawer.KEPT.clear()
    calls = [
        Call("read_dokumente_detail", {"dokument": 1}),
        Call("create_draft_dokument", {"title": "Brief", "text": "Sehr geehrte Frau Wagner"}),
    ]
    script = [*(Turn(one) for one in calls), Turn(Text("Gut."))]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        akte = service(pack, "Akten").open(pack.person, WORDS)
        source = tmp_path / "quelle" / "Klage.txt"
        source.parent.mkdir()
        source.write_text(f"Klage {WORDS}")
        documents = service(pack, "Dokumente")
        documents.add(pack.person, akte, source)
        root = tmp_path / "Akten"

        async def told(*words: str, code: int = 0) -> str:
            assert await home.command("packs", *words) == code, capsys.readouterr()
            said = capsys.readouterr()
            return said.out + said.err

        said = await told("run", "kanzlei", "verschliessen", akte.az, code=1)
        assert "packs encrypt kanzlei" in said and shows(root) == ["Klage.txt"]
        await told("encrypt", "kanzlei")
        assert "1 Datei ist in" in await told("run", "kanzlei", "verschliessen", akte.az)
        assert not shows(root)
        assert "verschlossen" in await told("run", "kanzlei", "verschliessen", akte.az, "--pruefen")
        session = await home.session()
        await session.change(subject=akte.address)
        events = await say(session)
        texts = [one.text for one in events if hasattr(one, "tool") or hasattr(one, "is_error")]
        assert any(f"Klage {WORDS}" in one and "sind verschlossen" in one for one in texts), texts
        assert not (root / "0001-26").exists()
        for command in (
            ("export", akte.az, str(tmp_path / "x.zip")),
            ("dokument", akte.az, str(source)),
        ):
            assert "oeffnen" in await told("run", "kanzlei", *command, code=1)
        kept = dict(drawer.KEPT)
        await told("decrypt", "kanzlei", "--yes")
        drawer.KEPT.clear()
        said = await told("encrypt", "kanzlei", code=1)
        assert "früheren Schlüssel" in said and "0001-26.verschlossen" in said and not drawer.KEPT
        drawer.KEPT.update(kept)
        await told("encrypt", "kanzlei")
        backup = tmp_path / "sicherung.zip"
        await told("run", "kanzlei", "backup", str(backup))
        await told("run", "kanzlei", "restore", str(backup), "--ersetzen")
        await told("decrypt", "kanzlei", "--yes")
        key = dict(drawer.KEPT)
        drawer.KEPT.clear()
        assert "Notfallblatt" in await told("run", "kanzlei", "oeffnen", akte.az, code=1)
        drawer.KEPT.update(key)
        assert "1 Datei liegt" in await told("run", "kanzlei", "oeffnen", akte.az)
        assert shows(root) == ["Klage.txt"]
        assert "nicht verschlossen" in await told("run", "kanzlei", "oeffnen", akte.az, code=1)
        await told("encrypt", "kanzlei")
        await told("run", "kanzlei", "verschliessen", akte.az)
        await told("run", "kanzlei", "ablegen", akte.az)
        await told("run", "kanzlei", "loeschen", akte.az, akte.az, "--grund", "Test")
        assert not [one for one in root.iterdir() if "0001" in one.name]
