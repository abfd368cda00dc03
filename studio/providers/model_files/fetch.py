"""The child process of one download: runs as ``python -m studio.providers.model_files.fetch``.

The first line of standard input is a JSON object: ``repo``, ``file``, ``projector`` (empty for a
model of words), ``folder``, ``title``, ``endpoint``, ``token`` and ``waits`` (seconds before each
further try). Lines of JSON on standard output tell how far it is:
``{"step": "waiting" | "fetching" | "checking", "done": …, "size": …}``, at the end
``{"path": …}`` or ``{"fault": …, "words": …, "done": …, "size": …}``. The process ends when
standard input does.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from studio.files.file_lock import lock
from studio.files.folders import private_folder

from .folder import (
    Source,
    begun_files,
    delete,
    is_whole,
    lock_of,
    part_of,
    place_of,
    read_source,
    record_of,
    write_source,
)
from .gguf import MAGIC, part_files, parts_of, projector_of

T = TypeVar("T")

_PIECE = 1 << 20
_SECONDS = 20.0
"""Without a byte after which a connection counts as gone."""
_TELL = 0.2
"""Seconds between two reports."""
_ROOM = 512 * 1024 * 1024
"""Bytes that stay free on the disk."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Fault(Exception):
    """Why it ended: a word for the program, and words for the person."""

    def __init__(self, fault: str, words: str = "") -> None:
        super().__init__(words)
        self.fault = fault


def main() -> None:
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    fetching = _Fetching(order)
    try:
        say({"path": str(fetching.run())})
    except Fault as fault:
        done, size = fetching.done, fetching.size
        say({"fault": fault.fault, "words": str(fault), "done": done, "size": size})


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


def say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class _Fetching:
    """One download, from what there is of it to a model that was checked."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._folder = Path(order["folder"])
        self._wanted = Source(
            order["repo"], order["file"], title=order["title"], projector=order["projector"]
        )
        self._waits: list[float] = list(order["waits"])
        self._told = 0.0
        self._before = self._whole = 0
        """Bytes of the parts that are done, and of all parts."""
        self._url = ""
        self._summed = hashlib.sha256()
        """Of what was written of the present part, all ``_done`` bytes of it."""
        self._done = self._size = 0

    @property
    def done(self) -> int:
        return self._before + self._done

    @property
    def size(self) -> int:
        return self._whole

    def run(self) -> Path:
        """Returns the file, the first where there are several parts; raises Fault."""
        try:
            private_folder(self._folder)
            path = place_of(self._folder, self._wanted)
            with lock_of(path).open("a") as file:
                self._wait_for(file.fileno(), path)
                try:
                    self._fetch_all(path)
                finally:
                    if is_whole(path) or not record_of(path).exists():  # nothing was begun
                        with suppress(OSError):
                            lock_of(path).unlink(missing_ok=True)
            return path
        except OSError as error:
            raise Fault("disk", error.strerror or str(error)) from error

    def _wait_for(self, file: int, path: Path) -> None:
        """Wait while another program fetches the model, and tell how far it is."""
        with suppress(OSError):  # some folders have no locks
            while not lock(file):
                begun = next((one for one in begun_files(self._folder) if one.path == path), None)
                if begun is not None:
                    self._before, self._whole = begun.done, begun.source.size
                self._tell("waiting")
                time.sleep(_TELL)
        self._before = 0

    def _fetch_all(self, path: Path) -> None:
        paths, files = part_files(path), parts_of(self._wanted.file)
        if self._wanted.projector:  # first: the model is whole when its last part is
            paths, files = [projector_of(path), *paths], [self._wanted.projector, *files]
        known = [self._trying(lambda file=file: self._ask(file)) for file in files]
        self._whole = sum(size for _, size in known)
        for place, file, (digest, size) in zip(paths, files, known, strict=True):
            before = read_source(place)
            if before is not None and before.sha256 != digest:
                part_of(place).unlink(missing_ok=True)
            source = Source(self._wanted.repo, file, size, digest, self._wanted.title)
            if place == path:
                source = replace(source, size=self._whole, projector=self._wanted.projector)
            write_source(place, source)
        self._check_room(paths)
        for place, file, (digest, size) in zip(paths, files, known, strict=True):
            self._done, self._size, self._summed = 0, size, hashlib.sha256()
            self._url = self._url_of(file)
            try:
                self._fetch(place, digest)
            except Fault as fault:
                if fault.fault == "damaged" and not any(one.exists() for one in paths):
                    delete(path)  # what is here already stays
                raise
            self._before, self._done = self._before + size, 0

    def _fetch(self, path: Path, digest: str) -> None:
        """Fetch one file, or the rest of it."""
        if self._is_here(path, digest):
            return
        part = part_of(path)
        with part.open("r+b" if part.exists() else "w+b") as file:
            self._begin(file)
            while self._done < self._size:
                self._trying(lambda: self._receive(file))
            self._tell("checking", always=True)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            is_model = file.read(len(MAGIC)) == MAGIC
        if self._summed.hexdigest() != digest or not is_model:
            part.unlink(missing_ok=True)
            self._done = 0
            raise Fault("damaged")
        part.replace(path)

    def _trying(self, work: Callable[[], T]) -> T:
        """Do something again where the network fails, also after each time that bytes came."""
        waits, before = list(self._waits), self._done
        while True:
            try:
                return work()
            except Fault as fault:
                if self._done > before:
                    waits, before = list(self._waits), self._done
                if fault.fault != "offline" or not waits:
                    raise
                time.sleep(waits.pop(0))

    def _ask(self, file: str) -> tuple[str, int]:
        """Digest and size of a file, from its repository."""
        with _hub_faults():
            found = _hub().get_hf_file_metadata(
                self._url_of(file), token=self._order["token"] or False, timeout=_SECONDS
            )
        digest, size = (found.etag or "").lower(), found.size or 0
        if not _SHA256.fullmatch(digest) or not size:
            raise Fault("unchecked")
        return digest, size

    def _is_here(self, path: Path, digest: str) -> bool:
        """Whether the file was fetched before and is whole."""
        if not path.exists() or path.stat().st_size != self._size:
            return False
        found = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                found.update(piece)
                self._done += len(piece)
                self._tell("checking")
        whole = found.hexdigest() == digest
        self._done = self._size if whole else 0
        return whole

    def _check_room(self, paths: list[Path]) -> None:
        now = [part_of(path) if part_of(path).exists() else path for path in paths]
        have = sum(one.stat().st_size for one in now if one.exists())
        self._done = min(have, self._whole)
        free = shutil.disk_usage(self._folder).free
        needed = self._whole - self._done + _ROOM
        if free < needed:
            raise Fault("space", str(needed - free))

    def _begin(self, file: BinaryIO) -> None:
        """Read what there is; too much of it is none."""
        self._done = 0
        while piece := file.read(_PIECE):
            self._summed.update(piece)
            self._done += len(piece)
            self._tell("checking")
        if self._done > self._size:
            self._begin_anew(file)

    def _begin_anew(self, file: BinaryIO) -> None:
        file.seek(0)
        file.truncate()
        self._summed, self._done = hashlib.sha256(), 0

    def _receive(self, file: BinaryIO) -> None:
        """Write what comes behind what there is."""
        hub = _hub()
        headers: dict[str, str] = hub.utils.build_hf_headers(token=self._order["token"] or False)
        headers["accept-encoding"] = "identity"
        if self._done:
            headers["range"] = f"bytes={self._done}-"
        with (
            _hub_faults(),
            hub.get_session().stream(
                "GET", self._url, headers=headers, timeout=_SECONDS, follow_redirects=True
            ) as answer,
        ):
            if answer.status_code == 416 and self._done:  # more was begun than the file has
                self._begin_anew(file)
                return
            hub.utils.hf_raise_for_status(answer)
            begins = f"bytes {self._done}-"
            resumed = answer.headers.get("content-range", "").startswith(begins)
            if self._done and not (answer.status_code == 206 and resumed):
                self._begin_anew(file)
                if answer.status_code == 206:
                    return
            for piece in answer.iter_bytes():
                if self._done + len(piece) > self._size:
                    self._done, self._summed = self._size, hashlib.sha256()
                    return  # more than there is: nothing of it is right
                file.write(piece)
                file.flush()  # other programs look how far it is, and a kill loses none of it
                self._summed.update(piece)
                self._done += len(piece)
                self._tell("fetching")
        if self._done < self._size:
            raise Fault("offline")

    def _url_of(self, file: str) -> str:
        repo, endpoint = self._wanted.repo, self._order["endpoint"]
        url: str = _hub().hf_hub_url(repo, file, endpoint=endpoint)
        return url

    def _tell(self, step: str, always: bool = False) -> None:
        now = time.monotonic()
        if always or now - self._told >= _TELL:
            self._told = now
            say({"step": step, "done": self.done, "size": self.size})


def _hub() -> Any:
    return importlib.import_module("huggingface_hub")


class _hub_faults(AbstractContextManager[None]):
    """Turns what the hub's library raises into a ``Fault``."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import httpx2
        from huggingface_hub import errors

        if error is None or isinstance(error, Fault):
            return
        if isinstance(error, errors.HFValidationError):  # no repository has such a name
            raise Fault("missing") from error
        if isinstance(error, errors.GatedRepoError):
            raise Fault("gated") from error
        if isinstance(error, errors.HfHubHTTPError):
            status = error.response.status_code
            if status in (401, 403):
                raise Fault("refused") from error
            if status == 404:
                raise Fault("missing") from error
            again = status in (408, 429) or status >= 500
            raise Fault("offline" if again else "refused", f"HTTP {status}") from error
        if isinstance(error, httpx2.HTTPError | errors.FileMetadataError):
            raise Fault("offline", type(error).__name__) from error


if __name__ == "__main__":
    main()
