"""Folder snapshot: scans a folder, and finds what changed since the last scan.

Nobody knows which files a command will change, so the content of each is kept before
(``BlobStore``). A later scan reads only the files whose signature changed, and lists only
the folders whose signature did: ten thousand files cost ten thousand calls of ``lstat``, made
from C. A signature as young as the scan proves nothing (the file may change again within the
same tick of the clock), so such a file is read again by the next scan.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import cast

from studio.domain.errors import StorageError
from studio.domain.records import dataclass
from studio.files.atomic_write import UNFINISHED

from .blob_store import BlobStore, SeenRow
from .file_state import (
    Change,
    FileState,
    FileStateReader,
    Signature,
    settled,
    signature_of,
    signatures_of,
)


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """The largest folder whose commands can be undone; sizes in bytes."""

    files: int = 50_000
    file_size: int = 5_000_000
    size: int = 500_000_000


class FolderTooLarge(Exception):
    """The folder is larger than ``SnapshotLimits``."""


@dataclass(slots=True)
class _Folder:
    signature: Signature | None
    entry: FileState
    folders: list[str]
    files: list[str]


class FolderSnapshot:
    """One folder as it was at the last scan. Methods block, and may be called in any thread.

    Folders with a name in ``ignored`` and those at ``excluded`` paths are not
    scanned. Methods raise StorageError and OSError; the next scan is then a first one.
    """

    def __init__(
        self,
        root: Path,
        contents: BlobStore,
        *,
        ignored: Collection[str] = (),
        excluded: Iterable[Path] = (),
        limits: SnapshotLimits | None = None,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.refused = ""
        """Why the folder cannot be scanned; then every scan is empty."""
        self._contents = contents
        self._ignored = frozenset(ignored)
        self._excluded = frozenset(os.path.realpath(place) for place in excluded)
        self._limits = limits or SnapshotLimits()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._top = str(self.root)
        self._cut = len(self._top.rstrip(os.sep)) + 1
        self._scanned = False
        self._folders: dict[str, _Folder] = {}
        self._seen: dict[str, Signature | None] = {}
        self._entries: dict[str, FileState] = {}
        self._unsaved: set[str] = set()

    def scan(self) -> dict[str, Change]:
        """What changed since the last scan, by relative path; empty for the first one."""
        with self._lock:
            if self.refused:
                return {}
            try:
                return self._scan()
            except FolderTooLarge as reason:
                self.refused = str(reason)
                self._forget()
                return {}
            except BaseException:
                self._forget()
                raise

    def scan_paths(
        self, paths: Iterable[str]
    ) -> tuple[dict[str, FileState | None], dict[str, Change]]:
        """The states of these paths and the folders above them, and what of it changed.

        Files of any size, in ignored folders too; changes only of what ``scan`` covers.
        """
        with self._lock:
            wanted = {path: None for each in paths for path in _lineage(each)}
            reader = FileStateReader(self._contents, None)
            state: dict[str, FileState | None] = {}
            changes: dict[str, Change] = {}
            for path in wanted:
                place = self._place(path)
                entry, signature = reader.read(place)
                state[path] = entry
                old = self._entries.get(place)
                if self._scanned and self._is_covered(path, place):
                    self._set(place, entry, signature)
                    if entry != old:
                        changes[path] = (old, entry)
            reader.flush()
            return state, changes

    def digests(self) -> dict[str, str]:
        """The digests of the files of the last scan whose contents are kept, by relative path."""
        with self._lock:
            known = self._entries.items()
            return {self._relative(p): e.digest for p, e in known if e.kind == "file" and e.kept}

    def save(self) -> None:
        """Store the scan, so that the next program need not read the files again."""
        with self._lock:
            if not self._scanned or not self._unsaved:
                return
            rows: list[SeenRow] = []
            gone: list[bytes] = []
            for place in self._unsaved:
                path, entry = os.fsencode(self._relative(place)), self._entries.get(place)
                signature = self._seen.get(place)
                if entry is None or entry.kind == "folder":
                    gone.append(path)
                else:  # without a signature it is read again
                    proof = " ".join(map(str, signature or ()))
                    rows.append((path, proof, str(entry), entry.digest))
            self._contents.keep_seen(self._top, rows, gone)
            self._unsaved.clear()

    def stop(self) -> None:
        """End a running scan; later ones are empty."""
        self._stopped.set()

    def _forget(self) -> None:
        self._scanned = False
        for known in (self._folders, self._seen, self._entries, self._unsaved):
            known.clear()

    def _scan(self) -> dict[str, Change]:
        if not self._scanned:
            self._load()
        folders = self._listed()
        if self._top not in folders:
            raise StorageError(f"The folder {self._top} is not there any more.")
        places = [place for folder in folders.values() for place in folder.files]
        signatures = signatures_of(places)
        self._check(places, signatures)
        seen = self._seen
        new: dict[str, FileState | None] = {}
        if (
            folders.keys() != self._folders.keys()
            or len(places) != len(seen)
            or any(folders[place] is not folder for place, folder in self._folders.items())
        ):
            gone = (self._entries.keys() | seen.keys()) - folders.keys() - set(places)
            new.update(dict.fromkeys(gone))
            new.update((place, f.entry) for place, f in folders.items() if place != self._top)
        reader = FileStateReader(self._contents, self._limits.file_size)
        young: dict[str, Signature | None] = {}
        for place, signature in zip(places, signatures, strict=True):
            if signature is None or seen.get(place) != signature:
                if self._stopped.is_set():
                    raise FolderTooLarge("the program is ending")
                new[place], young[place] = reader.read(place, signature)
        reader.flush()
        changes: dict[str, Change] = {}
        for place, entry in new.items():
            old = self._entries.get(place)
            self._set(place, entry, young.get(place))
            if entry != old and self._scanned:
                changes[self._relative(place)] = (old, entry)
        self._folders, self._scanned = folders, True
        return changes

    def _set(self, place: str, entry: FileState | None, signature: Signature | None) -> None:
        self._unsaved.add(place)
        if entry is None:
            self._entries.pop(place, None)
        else:
            self._entries[place] = entry
        if signature is None and (entry is None or entry.kind == "folder"):
            self._seen.pop(place, None)
        else:
            self._seen[place] = signature

    def _load(self) -> None:
        for path, signature, entry, _ in self._contents.seen(self._top):
            place = self._place(os.fsdecode(path))
            try:
                known = FileState.parse(entry)
                numbers = tuple(map(int, signature.split(" ")))
            except ValueError:
                continue
            self._entries[place] = known
            self._seen[place] = cast("Signature", numbers)

    def _listed(self) -> dict[str, _Folder]:
        """Every folder by its path; only those that changed are listed again."""
        known = self._folders
        now = dict(zip(known, signatures_of(list(known)), strict=True))
        found: dict[str, _Folder] = {}
        waiting = [self._top]
        count = 0
        while waiting:
            place = waiting.pop()
            folder = known.get(place)
            if folder is None or folder.signature is None or folder.signature != now[place]:
                folder = self._list(place)
            if folder is None:
                continue
            found[place] = folder
            waiting += folder.folders
            count += 1 + len(folder.files)
            if count > self._limits.files:
                raise FolderTooLarge("it has too many files")
            if self._stopped.is_set():
                raise FolderTooLarge("the program is ending")
        return found

    def _list(self, place: str) -> _Folder | None:
        began = time.time_ns()
        signature = signature_of(place)
        if signature is None or not stat.S_ISDIR(signature[4]):
            return None
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if not _is_folder(entry):
                        if not entry.name.endswith(UNFINISHED):
                            files.append(entry.path)
                    elif entry.name not in self._ignored and entry.path not in self._excluded:
                        folders.append(entry.path)
        except FileNotFoundError:
            return None
        except OSError:  # it cannot be listed
            folders, files = [], []
        itself = FileState("folder", stat.S_IMODE(signature[4]))
        return _Folder(settled(signature, began), itself, folders, files)

    def _check(self, places: Sequence[str], signatures: Sequence[Signature | None]) -> None:
        limits = self._limits
        sizes = (signature[2] for signature in signatures if signature is not None)
        if sum(size for size in sizes if size <= limits.file_size) > limits.size:
            raise FolderTooLarge("its files are too big together")

    def _is_covered(self, path: str, place: str) -> bool:
        """Whether ``scan`` covers this path."""
        above = path.split("/")
        there = signature_of(place)
        is_folder = there is not None and stat.S_ISDIR(there[4])
        inside = above if is_folder else above[:-1]
        if not self._ignored.isdisjoint(inside):
            return False
        return not any(
            place == other or place.startswith(other + os.sep)
            for other in self._excluded
            if other.startswith(self._top + os.sep)
        )

    def _place(self, path: str) -> str:
        return self._top.rstrip(os.sep) + os.sep + path.replace("/", os.sep)

    def _relative(self, place: str) -> str:
        path = place[self._cut :]
        return path.replace(os.sep, "/") if os.sep != "/" else path


def _lineage(path: str) -> list[str]:
    """The folders above a relative path, outermost first, and the path."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
