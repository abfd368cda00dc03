"""Backup: the whole office in one file while it is used, and back again (KZ-46).

The file is a zip with the records, as they were at one moment, the documents, and a list with the
digest of each. It is not encrypted: keep it where the originals may be kept.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from studio.packs import Home, Person, ToolFailed, dataclass

from .audit import append, private
from .dokumente import KEPT, Dokumente
from .history import now
from .persons import ADMIN

RECORDS, LIST, DOCUMENTS = "kanzlei.db", "liste.json", "Akten"
_CHUNK = 1 << 20
_MOST_LIST = 500_000_000


@dataclass(frozen=True, slots=True)
class Done:
    """What was saved or brought back. ``kept`` is the folder in which the documents from before
    are; ``problems`` name files that could not be read."""

    documents: int
    problems: tuple[str, ...] = ()
    kept: str = ""


def save(home: Home, target: Path) -> Done:
    """Write one file; another with its name is replaced once this one is whole. Blocks."""
    root = home.service(Dokumente).root
    target = target.absolute()
    if target.is_relative_to(root):
        raise ToolFailed(f"{target} liegt in {root} und würde sich selbst sichern.")
    digests: dict[str, str] = {}
    problems: list[str] = []
    part = target.with_name(f".{target.name}.part")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".sicherung-") as folder:
            copy = Path(folder) / RECORDS
            home.records.copy(copy)
            part.unlink(missing_ok=True)  # of a program that died, perhaps for others to read
            with (
                open(part, "xb", opener=private) as file,
                zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as made,
            ):
                digests[RECORDS] = _added(made, copy, RECORDS)
                for path in sorted(root.rglob("*")):
                    name = f"{DOCUMENTS}/{path.relative_to(root).as_posix()}"
                    if path.is_symlink() or not path.is_file() or path.name.startswith(".neu-"):
                        continue
                    try:
                        digests[name] = _added(made, path, name)
                    except OSError as error:
                        problems.append(f"{path}: {error.strerror}")
                told = {"zeit": now(), "dateien": digests, "nicht_gelesen": problems}
                made.writestr(LIST, json.dumps(told, ensure_ascii=False, indent=1))
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.replace(target)
    except OSError as error:
        raise ToolFailed(f"{target} kann nicht geschrieben werden: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)
    append(home.records, now(), home.person, None, "Sicherung", "geschrieben")
    return Done(len(digests) - 1, tuple(problems))


def check(source: Path) -> dict[str, str]:
    """The digests of a backup, each compared with its file; raises ToolFailed. Blocks."""
    try:
        with zipfile.ZipFile(source) as opened:
            digests = _listed(opened)
            for name, wanted in digests.items():
                with opened.open(name) as file:
                    if _copied(cast("BinaryIO", file), None) != wanted:
                        raise ToolFailed(f"{source.name} ist beschädigt: {name} ist ein anderes.")
    except ToolFailed:
        raise
    except OSError as error:
        why = error.strerror or "sie ist nicht zu lesen"
        raise ToolFailed(f"{source.name} kann nicht gelesen werden: {why}.") from error
    except Exception as error:  # what zipfile and its decompressors raise is no short list
        raise ToolFailed(
            f"{source.name} ist keine Sicherung der Kanzlei oder beschädigt. Nichts wurde geändert."
        ) from error
    return digests


def restore(home: Home, person: Person, source: Path, *, replacing: bool) -> Done:
    """Bring all back as it was; what is here now is kept beside. Blocks.

    All of the file is checked first, so a broken one changes nothing.
    """
    if person.role != ADMIN:
        raise ToolFailed(f"Eine Sicherung spielt ein ADMIN zurück, nicht {person.role}.")
    if home.records.read("SELECT 1 FROM akte LIMIT 1") and not replacing:
        raise ToolFailed(
            "Hier sind schon Akten. Mit --ersetzen treten die gesicherten an ihre Stelle."
        )
    digests = check(source)
    root = home.service(Dokumente).root
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=root.parent, prefix=".rueck-") as folder,
            zipfile.ZipFile(source) as opened,
        ):
            for name in digests:
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with opened.open(name) as file, path.open("wb") as made:
                    _copied(cast("BinaryIO", file), made)
            kept = _swap(home, Path(folder), root)
    except (OSError, zipfile.BadZipFile) as error:
        why = getattr(error, "strerror", "") or "sie ist beschädigt"
        raise ToolFailed(
            f"{source.name} kann nicht zurückgespielt werden: {why}. Nichts wurde geändert."
        ) from error
    append(home.records, now(), home.person, None, "Sicherung", "zurückgespielt")
    return Done(len(digests) - 1, kept=kept)


def _swap(home: Home, folder: Path, root: Path) -> str:
    """Let unpacked records and documents take the places of those here, or nothing; returns where
    the documents from before are.

    What can be in the way of the documents, as a file that is open, is tried first: the records are
    changed at one moment, and the documents follow at once.
    """
    when = datetime.datetime.now().strftime("%Y-%m-%d %H.%M.%S")
    aside, documents = root.with_name(f"{root.name}{KEPT}{when}"), folder / DOCUMENTS
    there = root.exists()
    if there:
        root.rename(aside)
        aside.rename(root)
    before = folder / f"vorher-{RECORDS}"
    home.records.copy(before)
    home.records.replace(folder / RECORDS)
    try:
        if there:
            root.rename(aside)
        if documents.is_dir():
            documents.rename(root)
    except OSError:
        home.records.replace(before)
        if aside.exists() and not root.exists():
            aside.rename(root)
        raise
    if there and aside.is_dir() and not any(aside.iterdir()):
        aside.rmdir()
        return ""
    return str(aside) if there else ""


def _listed(opened: zipfile.ZipFile) -> dict[str, str]:
    """The files of a backup by their names; raises ValueError for a name that leads elsewhere."""
    if opened.getinfo(LIST).file_size > _MOST_LIST:
        raise ValueError("die Liste ist zu groß")
    digests = json.loads(opened.read(LIST))["dateien"]
    for name in digests:
        parts = PurePosixPath(name).parts
        if name != RECORDS and (parts[0] != DOCUMENTS or ".." in parts or "\\" in name):
            raise ValueError(f"der Name {name} führt woandershin")
    if RECORDS not in digests:
        raise ValueError(f"{RECORDS} fehlt")
    return digests


def _added(made: zipfile.ZipFile, path: Path, name: str) -> str:
    with path.open("rb") as file, made.open(name, "w", force_zip64=True) as entry:
        return _copied(file, cast("BinaryIO", entry))


def _copied(source: BinaryIO, target: BinaryIO | None) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
    return digest.hexdigest()
