"""Sealing: puts the files of an Akte into one encrypted file, and back (KZ-44).

Files lie open as long as an Akte is worked on, so that any program reads them (KZ-12). One that
rests can be sealed, with a key made of that of the encrypted records. At each moment either the
folder is there or the sealed file, whole; where a program died between, both are, and opening makes
one folder of them in which nothing is lost.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from studio.packs import SealedReader, SealedWriter, ToolFailed, Unsealable, exclusive_access

from .audit import private

if TYPE_CHECKING:  # it is read when files are sealed
    import tarfile

ENDING = ".verschlossen"
_CHUNK = 1 << 20
_FOLDER = (-1, 0)
Stamps = dict[str, tuple[int, int]]
"""Size and time of each file by its place, ``_FOLDER`` for a folder."""


def sealed_of(folder: Path) -> Path:
    """The file in which a folder is sealed."""
    return folder.with_name(f"{folder.name}{ENDING}")


def is_sealed(folder: Path) -> bool:
    """Whether the files are sealed. What a program that died left open of them is deleted."""
    if folder.exists() or not sealed_of(folder).is_file():
        return False
    left = [one for one in (_rest(folder), _fresh(folder)) if one.exists()]
    if left:
        with exclusive_access(sealed_of(folder)) as alone:
            for one in left if alone else ():
                delete_folder(one)
    return True


def delete_folder(folder: Path, refused: Callable[..., object] = lambda *_: None) -> None:
    """Delete a folder with what is in it, also what may only be read, which Windows keeps.

    ``refused`` is told of all that stays, see ``shutil.rmtree``.
    """

    def allow(_: object, path: str, __: object) -> None:
        for one in (Path(path), Path(path).parent):
            with suppress(OSError):
                if one.is_relative_to(folder) and not one.is_symlink():
                    one.chmod(stat.S_IRWXU)

    shutil.rmtree(folder, onerror=allow)
    if folder.exists():
        shutil.rmtree(folder, onerror=refused)


def forget_sealed(folder: Path) -> None:
    """Delete the sealed file of a folder that is gone, and all that belongs to it.

    Raises ToolFailed where files of it stay open.
    """
    sealed = sealed_of(folder)
    for one in (_rest(folder), _fresh(folder)):
        delete_folder(one)
        if one.exists():
            raise ToolFailed(f"{one} kann nicht gelöscht werden. Die Akte steht noch.")
    for one in (sealed, _part(folder), sealed.with_name(f".{sealed.name}.lock")):
        one.unlink(missing_ok=True)


def seal_folder(folder: Path, key: bytes) -> int:
    """Seal a folder; returns how many files. Raises ToolFailed, and changes nothing then. Slow."""
    with _alone(folder):
        return _seal(folder, key)


def open_folder(folder: Path, key: bytes) -> int:
    """Have a folder's files again; returns how many. Raises ToolFailed, and the sealed file stays
    then. Slow."""
    with _alone(folder):
        return _open(folder, key)


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    with exclusive_access(sealed_of(folder)) as alone:
        if not alone:
            raise ToolFailed(f"{folder.name} wird gerade verschlossen oder geöffnet.")
        yield


def _seal(folder: Path, key: bytes) -> int:
    import tarfile

    sealed, part, rest = sealed_of(folder), _part(folder), _rest(folder)
    if sealed.exists():
        raise ToolFailed(f"{sealed.name} gibt es schon. Öffne die Akte zuerst.")
    stamps = _stamps(folder) if folder.exists() else {}
    files = [place for place, stamp in stamps.items() if stamp != _FOLDER]
    if not files:
        raise ToolFailed(f"In {folder} liegt keine Datei.")
    if used := next(filter(_is_in_use, files), ""):
        raise ToolFailed(
            f"In {folder} hat ein Programm noch eine Datei offen: schließe sie dort. Ist das nicht "
            f"mehr so, lösche {used}."
        )
    try:
        part.unlink(missing_ok=True)
        with open(part, "xb", opener=private) as file:
            with (
                SealedWriter(file, key) as writer,
                # Files that are one on the disk are sealed as two.
                tarfile.open(fileobj=cast("Any", writer), mode="w|", dereference=True) as archive,
            ):
                for place in stamps:
                    archive.add(folder / place, place, recursive=False)
            file.flush()
            os.fsync(file.fileno())
        with _opened(part, key) as (archive, reader):
            kept = {one.name for one in archive if _same(archive, one, folder / one.name)}
            reader.finish()
        if kept != set(stamps) or _stamps(folder) != stamps:
            raise ToolFailed(f"{folder} wird gerade geändert. Nichts wurde verschlossen.")
        part.replace(sealed)
        _sync(folder.parent)
        delete_folder(rest)
        try:
            folder.rename(rest)
        except OSError:
            sealed.unlink()
            raise
        now: Stamps = {}
        with suppress(OSError, ToolFailed):
            now = _stamps(rest)
        if now != stamps:
            rest.rename(folder)
            sealed.unlink()
            raise ToolFailed(f"{folder} wird gerade geändert. Nichts wurde verschlossen.")
    except OSError as error:
        why = error.strerror or error
        raise ToolFailed(f"{folder} kann nicht verschlossen werden: {why}.") from error
    except (Unsealable, tarfile.TarError) as error:
        raise ToolFailed(f"{folder} wurde nicht richtig verschlossen und bleibt offen.") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)

    def refused(_: object, path: str, why: tuple[Any, Any, Any]) -> None:
        # The error itself has the name alone, and from Python 3.13 on the folder instead.
        raise ToolFailed(
            f"{sealed.name} ist verschlossen, aber {path} kann nicht gelöscht werden: "
            f"{why[1].strerror}. Lösche {rest} selbst."
        ) from why[1]

    delete_folder(rest, refused)
    return len(files)


def _open(folder: Path, key: bytes) -> int:
    import tarfile

    sealed, fresh = sealed_of(folder), _fresh(folder)
    count = 0
    try:
        delete_folder(fresh)
        fresh.mkdir(mode=0o700)
        with _opened(sealed, key) as (archive, reader):
            for one in archive:
                _take_out(archive, one, fresh)
                count += not one.isdir()
            reader.finish()
        for one in [*fresh.rglob("*"), fresh]:
            if one.is_dir():
                _sync(one)
        if folder.exists():
            _merge(fresh, folder)
        else:
            fresh.rename(folder)
        _sync(folder.parent)
        delete_folder(_rest(folder))
        sealed.unlink()
    except FileNotFoundError as error:
        raise ToolFailed(f"{sealed} gibt es nicht.") from error
    except OSError as error:
        why = error.strerror or error
        raise ToolFailed(f"{sealed} kann nicht geöffnet werden: {why}.") from error
    except (Unsealable, tarfile.TarError) as error:
        raise ToolFailed(
            f"{sealed.name} ist mit einem anderen Schlüssel verschlossen oder beschädigt. Nichts "
            "wurde geändert. Den Schlüssel gibst Du mit „agent-studio packs key kanzlei“ ein."
        ) from error
    finally:
        delete_folder(fresh)
    return count


def _rest(folder: Path) -> Path:
    """The files that were sealed, until they are deleted."""
    return folder.with_name(f".{folder.name}.offen")


def _fresh(folder: Path) -> Path:
    """The files that are taken out, until all of them are."""
    return folder.with_name(f".{folder.name}.neu")


def _part(folder: Path) -> Path:
    """The sealed file, until it is whole."""
    return folder.with_name(f".{folder.name}{ENDING}.neu")


def _is_in_use(place: str) -> bool:
    """Whether a file says that LibreOffice or Word have another one open."""
    name = PurePosixPath(place).name
    return name.startswith("~$") or (name.startswith(".~lock.") and name.endswith("#"))


def _stamps(folder: Path) -> Stamps:
    """A folder, ``.``, with what is below; raises ToolFailed where there is a link."""
    found: Stamps = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise ToolFailed(f"{path} ist eine Verknüpfung. Nimm sie heraus und versuche es neu.")
        facts = path.stat()
        stamp = _FOLDER if path.is_dir() else (facts.st_size, facts.st_mtime_ns)
        found[path.relative_to(folder).as_posix()] = stamp
    return found


@contextmanager
def _opened(path: Path, key: bytes) -> Generator[tuple[tarfile.TarFile, SealedReader]]:
    import tarfile

    with path.open("rb") as file:
        reader = SealedReader(file, key)
        with tarfile.open(fileobj=cast("Any", reader), mode="r|") as archive:
            yield archive, reader


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_CHUNK):
        yield piece


def _same(archive: tarfile.TarFile, one: tarfile.TarInfo, path: Path) -> bool:
    """Whether a file or a folder is as it was sealed."""
    if one.isdir():
        return path.is_dir()
    sealed = archive.extractfile(one)
    with path.open("rb") as file:
        return sealed is not None and all(
            piece == file.read(len(piece)) for piece in _pieces(cast("BinaryIO", sealed))
        ) and not file.read(1)  # fmt: skip


def _take_out(archive: tarfile.TarFile, one: tarfile.TarInfo, folder: Path) -> None:
    place, sealed = PurePosixPath(one.name), archive.extractfile(one)
    path = folder / place
    if place.is_absolute() or ".." in place.parts or (sealed is None and not one.isdir()):
        raise Unsealable(one.name)
    if sealed is None:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(one.mode | 0o700)  # what is in it comes yet
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for piece in _pieces(cast("BinaryIO", sealed)):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    os.utime(path, (one.mtime, one.mtime))
    path.chmod(one.mode)


def _merge(fresh: Path, folder: Path) -> None:
    """Have all files of both; one that is there as another keeps both."""
    for place, stamp in _stamps(fresh).items():
        source, target = fresh / place, folder / place
        if stamp == _FOLDER:
            target.mkdir(parents=True, exist_ok=True)
            continue
        count = 0
        while target.exists() and target.read_bytes() != source.read_bytes():
            count += 1
            more = " (verschlossen)" if count == 1 else f" (verschlossen {count})"
            target = (folder / place).with_name(f"{target.stem.split(' (verschlossen')[0]}{more}"
                                                f"{source.suffix}")  # fmt: skip
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():  # there is one that is the same, which may only be read
            source.replace(target)


def _sync(folder: Path) -> None:
    """Have the disk keep the names of a folder, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
