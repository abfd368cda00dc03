"""The child process of one download: runs as ``python -m studio.providers.model_files.fetch``.

The first line of standard input is a JSON object: ``repo``, ``file``, ``folder``, ``name`` (of
the file here), ``sha256`` (of what was begun), ``title``, ``endpoint``, ``token`` and ``waits``
(seconds before each further try). Lines of JSON on standard output tell how far it is:
``{"step": "fetching" | "checking", "done": …, "size": …}``, at the end ``{"path": …}`` or
``{"fault": …, "words": …, "done": …, "size": …}``. The process ends when standard input does.
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
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

from studio.files.folders import private_folder

from .folder import Source, delete, part_of, place_of, read_source, write_source
from .gguf import MAGIC

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
    """One download, from what there is of it to a file that was checked."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._folder = Path(order["folder"])
        self._wanted = Source(order["repo"], order["file"], title=order["title"])
        self._told = 0.0
        self._summed = hashlib.sha256()
        """Of what was written, all ``done`` bytes of it."""
        self.done = self.size = 0

    def run(self) -> Path:
        """Returns the file; raises Fault."""
        try:
            private_folder(self._folder)
            path = place_of(self._folder, self._wanted)
            return self._run(path)
        except OSError as error:
            raise Fault("disk", error.strerror or str(error)) from error

    def _run(self, path: Path) -> Path:
        digest = self._ask(path)
        if self._is_here(path, digest):
            return path
        part = part_of(path)
        self._check_room(part)
        waits = list(self._order["waits"])
        with part.open("r+b" if part.exists() else "w+b") as file:
            self._begin(file)
            while self.done < self.size:
                before = self.done
                try:
                    self._receive(file)
                except Fault as fault:
                    if fault.fault != "offline":
                        raise
                    if self.done > before:
                        waits = list(self._order["waits"])
                    if not waits:
                        raise
                    time.sleep(waits.pop(0))
            self._tell("checking", always=True)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            is_model = file.read(len(MAGIC)) == MAGIC
        if self._summed.hexdigest() != digest or not is_model:
            if path.exists():  # what was fetched before stays
                part.unlink(missing_ok=True)
            else:
                delete(path)
            self.done = 0
            raise Fault("damaged")
        part.replace(path)
        return path

    def _ask(self, path: Path) -> str:
        """The file's digest, from its repository. What was begun of another one is deleted."""
        with _hub_faults():
            found = _hub().get_hf_file_metadata(
                self._url(), token=self._order["token"] or False, timeout=_SECONDS
            )
        digest, self.size = (found.etag or "").lower(), found.size or 0
        if not _SHA256.fullmatch(digest) or not self.size:
            raise Fault("unchecked")
        before = read_source(path)
        if before is not None and before.sha256 != digest:
            part_of(path).unlink(missing_ok=True)
        title = self._wanted.title
        source = Source(self._wanted.repo, self._wanted.file, self.size, digest, title)
        write_source(path, source)
        return digest

    def _is_here(self, path: Path, digest: str) -> bool:
        """Whether the file was fetched before and is whole."""
        if not path.exists() or path.stat().st_size != self.size:
            return False
        found = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                found.update(piece)
                self.done += len(piece)
                self._tell("checking")
        whole = found.hexdigest() == digest
        self.done = self.size if whole else 0
        return whole

    def _check_room(self, part: Path) -> None:
        have = part.stat().st_size if part.exists() else 0
        self.done = min(have, self.size)
        free = shutil.disk_usage(self._folder).free
        needed = self.size - self.done + _ROOM
        if free < needed:
            raise Fault("space", str(needed - free))

    def _begin(self, file: BinaryIO) -> None:
        """Read what there is; too much of it is none."""
        self.done = 0
        while piece := file.read(_PIECE):
            self._summed.update(piece)
            self.done += len(piece)
            self._tell("checking")
        if self.done > self.size:
            self._begin_anew(file)

    def _begin_anew(self, file: BinaryIO) -> None:
        file.seek(0)
        file.truncate()
        self._summed, self.done = hashlib.sha256(), 0

    def _receive(self, file: BinaryIO) -> None:
        """Write what comes behind what there is."""
        hub = _hub()
        headers: dict[str, str] = hub.utils.build_hf_headers(token=self._order["token"] or False)
        headers["accept-encoding"] = "identity"
        if self.done:
            headers["range"] = f"bytes={self.done}-"
        with (
            _hub_faults(),
            hub.get_session().stream(
                "GET", self._url(), headers=headers, timeout=_SECONDS, follow_redirects=True
            ) as answer,
        ):
            if answer.status_code == 416 and self.done:  # more was begun than the file has
                self._begin_anew(file)
                return
            hub.utils.hf_raise_for_status(answer)
            begins = f"bytes {self.done}-"
            resumed = answer.headers.get("content-range", "").startswith(begins)
            if self.done and not (answer.status_code == 206 and resumed):
                self._begin_anew(file)
                if answer.status_code == 206:
                    return
            for piece in answer.iter_bytes():
                if self.done + len(piece) > self.size:
                    self.done, self._summed = self.size, hashlib.sha256()
                    return  # more than there is: nothing of it is right
                file.write(piece)
                self._summed.update(piece)
                self.done += len(piece)
                self._tell("fetching")
        if self.done < self.size:
            raise Fault("offline")

    def _url(self) -> str:
        source = self._wanted
        url: str = _hub().hf_hub_url(source.repo, source.file, endpoint=self._order["endpoint"])
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
