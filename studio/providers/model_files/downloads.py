"""Downloads: runs them, each in a child process, and tells how far they are.

A child takes the hub's library and the digest of gigabytes off this process, and can be
stopped at once. What was fetched stays in the folder, and the next start goes on from there.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import studio
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import StudioError
from studio.domain.jsonvalue import JsonObject, as_count, as_object, as_text
from studio.files.file_lock import lock

from .folder import Source, delete, lock_of, part_of, place_of
from .gguf import part_files, projector_of
from .hub import endpoint

State: TypeAlias = Literal["asking", "waiting", "fetching", "checking", "paused", "failed", "done"]
Fault: TypeAlias = Literal[
    "offline", "damaged", "gated", "refused", "missing", "space", "disk", "unchecked", "ended"
]

FAULT_WORDS: dict[str, str] = {
    "offline": "The network went away.",
    "damaged": "The file is damaged and was deleted.",
    "gated": "Its owner asks you to accept the terms on huggingface.co first. "
    "Then add your token of Hugging Face.",
    "refused": "Hugging Face refuses it. It may be private: add your token of Hugging Face.",
    "missing": "Hugging Face does not have this file any more.",
    "space": "The disk is too full.",
    "disk": "The file cannot be written.",
    "unchecked": "Its owner gives no checksum, so it was not fetched.",
    "ended": "The download ended by itself.",
}
RUNNING = ("asking", "waiting", "fetching", "checking")
_STEPS: dict[str, State] = {"waiting": "waiting", "checking": "checking"}
_SPEED_SECONDS = 4.0


class DownloadFailed(StudioError):
    """A download that was waited for did not end well; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Download:
    """One download as it is now; counts in bytes, ``speed`` in bytes a second."""

    source: Source
    folder: Path
    state: State = "asking"
    done: int = 0
    size: int = 0
    speed: float = 0.0
    fault: str = ""
    detail: str = ""
    """More of a fault: what the system said, or how many bytes are missing on the disk."""
    path: Path | None = None

    @property
    def running(self) -> bool:
        return self.state in RUNNING

    @property
    def seconds_left(self) -> float | None:
        return (self.size - self.done) / self.speed if self.speed > 0 and self.size else None


@dataclass(slots=True)
class _Running:
    task: asyncio.Task[None] | None = None
    process: subprocess.Popen[str] | None = None
    stopped: bool = False
    seen: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])


class Downloads:
    """All downloads since the program began. Belongs to one event loop.

    ``environment`` is that of the child processes, without keys. ``waits`` are the seconds
    before each further try while nothing comes.
    """

    def __init__(
        self, environment: Mapping[str, str], waits: Sequence[float] = (1.0, 2.0, 4.0)
    ) -> None:
        self._environment = dict(environment)
        self._waits = list(waits)
        self._now: dict[str, Download] = {}
        self._running: dict[str, _Running] = {}
        self._tasks = BackgroundTasks()
        self._listeners: list[Callable[[Download], object]] = []

    @property
    def all(self) -> list[Download]:
        return list(self._now.values())

    def subscribe(self, listener: Callable[[Download], object]) -> Callable[[], None]:
        """Call ``listener`` after each change; returns what ends that."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def start(self, source: Source, folder: Path, token: str = "") -> Download:
        """Begin or go on. Raises ValueError for a name that no model file has."""
        _ = source.name
        key = _key(source)
        if (now := self._now.get(key)) is not None and now.running:
            return now
        download = replace(
            now or Download(source, folder), source=source, folder=folder, state="asking", fault=""
        )
        running = self._running[key] = _Running()
        self._show(download)
        running.task = self._tasks.start(self._run(running, download, token))
        return download

    async def pause(self, source: Source) -> None:
        """Stop it; what was fetched is kept."""
        await self._stop(_key(source))

    async def cancel(self, source: Source, folder: Path) -> None:
        """Stop it and delete what was fetched. Raises OSError."""
        key = _key(source)
        await self._stop(key)
        gone = self._now.pop(key, None)
        await asyncio.to_thread(_delete_begun, folder, source)
        if gone is not None:
            self._tell(replace(gone, state="paused", done=0))

    def forget(self, source: Source) -> None:
        """Take one that ended out of the list."""
        if (now := self._now.get(_key(source))) is not None and not now.running:
            del self._now[_key(source)]

    async def ended(self, source: Source) -> Download:
        """Wait for one that was started; raises DownloadFailed."""
        running = self._running.get(_key(source))
        if running is not None and running.task is not None:
            await asyncio.shield(running.task)
        now = self._now[_key(source)]
        if now.state != "done":
            raise DownloadFailed(fault_text(now))
        return now

    async def aclose(self) -> None:
        """Stop all of them; what was fetched is kept."""
        for key in list(self._running):
            await self._stop(key)
        await self._tasks.settled()

    async def _stop(self, key: str) -> None:
        running = self._running.get(key)
        if running is None or running.task is None or running.task.done():
            return
        running.stopped = True
        if running.process is not None:
            running.process.kill()
        await asyncio.shield(running.task)

    async def _run(self, running: _Running, download: Download, token: str) -> None:
        source = download.source
        order: JsonObject = {
            "repo": source.repo,
            "file": source.file,
            "title": source.title,
            "projector": source.projector,
            "folder": str(download.folder),
            "endpoint": endpoint(),
            "token": token,
            "waits": list(self._waits),
        }
        loop = asyncio.get_running_loop()

        def heard(line: JsonObject) -> None:
            loop.call_soon_threadsafe(self._heard, running, source, line)

        # A thread of its own: it lasts for hours, and the loop's few threads have other work.
        thread = ThreadPoolExecutor(1, "download")
        try:
            await loop.run_in_executor(thread, self._converse, running, order, heard)
        except OSError as error:
            self._heard(running, source, {"fault": "disk", "words": error.strerror or ""})
        finally:
            thread.shutdown(wait=False)
        await asyncio.sleep(0)  # what was heard last is told
        now = self._now[_key(source)]
        if running.stopped and now.state != "done":
            self._show(replace(now, state="paused", speed=0.0, fault=""))
        elif now.running:
            self._show(replace(now, state="failed", speed=0.0, fault="ended"))

    def _converse(
        self, running: _Running, order: JsonObject, heard: Callable[[JsonObject], object]
    ) -> None:
        """In a thread: start the child and pass on what it says."""
        with subprocess.Popen(
            [sys.executable, "-m", "studio.providers.model_files.fetch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={**self._environment, "HF_HUB_DISABLE_TELEMETRY": "1"},
            cwd=Path(studio.__file__).parents[1],
            start_new_session=True,  # Ctrl-C in a terminal is for the program alone
        ) as process:
            running.process = process
            if running.stopped:
                process.kill()
            assert process.stdin is not None and process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(order) + "\n")
                process.stdin.flush()
            for line in process.stdout:
                with suppress(ValueError):
                    heard(as_object(json.loads(line)))
            with suppress(BrokenPipeError):
                process.stdin.close()

    def _heard(self, running: _Running, source: Source, line: JsonObject) -> None:
        now = self._now.get(_key(source))
        if now is None or running.stopped:
            return
        done, size = as_count(line.get("done")), as_count(line.get("size")) or now.size
        if path := as_text(line.get("path")):
            self._show(replace(now, state="done", done=size, path=Path(path), speed=0.0))
        elif fault := as_text(line.get("fault")):
            detail = as_text(line.get("words"))
            now = replace(now, state="failed", done=done, size=size, speed=0.0)
            self._show(replace(now, fault=fault, detail=detail))
        else:
            state = _STEPS.get(as_text(line.get("step")), "fetching")
            speed = _speed(running.seen, done) if state == "fetching" else 0.0
            self._show(replace(now, state=state, done=done, size=size, speed=speed))

    def _show(self, download: Download) -> None:
        self._now[_key(download.source)] = download
        self._tell(download)

    def _tell(self, download: Download) -> None:
        for listener in tuple(self._listeners):
            listener(download)


def fault_text(download: Download) -> str:
    """Why it stopped and what to do, in a sentence or two."""
    if download.state == "paused":
        return "The download was stopped; what was fetched is kept."
    words = FAULT_WORDS.get(download.fault, FAULT_WORDS["ended"])
    if download.fault == "space" and download.detail.isdecimal():
        return (
            f"{words} Make {int(download.detail) / 1e9:.1f} GB of room, or choose another folder."
        )
    if download.fault == "disk" and download.detail:
        return f"{words.rstrip('.')}: {download.detail}."
    return words


def _delete_begun(folder: Path, source: Source) -> None:
    """Delete what was fetched, unless it is a whole model or another program goes on with it."""
    path = place_of(folder, source)
    if not folder.is_dir():
        return
    with lock_of(path).open("a") as file:
        free = True
        with suppress(OSError):
            free = lock(file.fileno())
        parts = part_files(path)
        if free and all(part.exists() for part in parts):
            for part in (*parts, projector_of(path)):
                part_of(part).unlink(missing_ok=True)
        elif free:
            delete(path)


def _key(source: Source) -> str:
    return f"{source.repo}/{source.file}"


def _speed(seen: deque[tuple[float, int]], done: int) -> float:
    """Bytes a second over the last seconds; 0 until there are two reports."""
    now = time.monotonic()
    seen.append((now, done))
    while now - seen[0][0] > _SPEED_SECONDS and len(seen) > 2:
        seen.popleft()
    began, first = seen[0]
    return max(0.0, (done - first) / (now - began)) if now > began else 0.0
