"""Installed packs: keeps which packs there are, what of them is on, and what was approved (X-2).

What is installed is a copy of its own, named by the digest of its contents, that the person
approved; a pack whose contents are others does not run. What a pack keeps for itself lies beside
it, and stays when it is updated or removed.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from studio.domain.errors import StorageError
from studio.domain.extensions import PackPlace
from studio.domain.jsonvalue import JsonObject, as_object
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import exclusive_access
from studio.files.folders import private_folder
from studio.mcp.entries import Entries, ServerEntry
from studio.storage.pack_key import words_in
from studio.storage.pack_records import PackRecords
from studio.storage.pack_steps import read_steps

from .contents import copy_pack, difference, digest_of, state_of
from .manifest import PARTS, WORDS, PackError, PackManifest, Part, PartName, read_manifest
from .origins import Brought, Origin
from .servers import pack_servers

if TYPE_CHECKING:
    from .fetching import Fetched
    from .rights import RightChange

STATE = "packs.json"
RECORDS = "records.db"
_STAGED = ".staged"
_STALE = 24 * 3600.0
"""Seconds after which what was looked at and not installed is removed."""


@dataclass(frozen=True, slots=True)
class InstalledPack:
    """One pack. ``approved`` is the digest that the person saw, ``digest`` that of its files now;
    both are empty for one that ships with the program.

    ``home`` is where it keeps its data. ``off`` are the parts that are switched off. ``reading``
    counts how often its files were read: they may be others only where it differs.
    """

    manifest: PackManifest
    origin: Origin
    home: Path
    digest: str
    approved: str = ""
    on: bool = False
    off: frozenset[str] = frozenset()
    reading: int = 0

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def runs(self) -> bool:
        """Whether it is on, and is what the person approved."""
        return self.on and self.approved == self.digest

    @property
    def data(self) -> Path:
        """The folder for files that its servers and tools keep (``PLUGIN_DATA``)."""
        return self.home / "data"

    @property
    def records(self) -> Path:
        """Its database (X-6)."""
        return self.home / RECORDS

    def open_records(self) -> PackRecords:
        """Its database; raises StorageError for steps that are wrong. Blocks."""
        part = self.manifest.parts().get("schema")
        python = self.runs and self.origin.is_in_place  # as its tools run in the program
        steps = read_steps(part.files if part else (), python=python)
        words = words_in(self.manifest.language)
        return PackRecords(self.records, steps, self.id, words=words)

    def part(self, name: PartName) -> Part | None:
        """What it brings of a kind, if the pack runs and the kind is not switched off."""
        return self.manifest.parts().get(name) if self.runs and name not in self.off else None


@dataclass(frozen=True, slots=True)
class Offer:
    """A pack that was fetched and not installed: what the person looks at before they approve.

    ``text`` says all that it brings. For an update, ``change`` is the difference to ``before``,
    ``rights`` what it may newly do or not any more, and ``texts`` how many other files changed.
    """

    manifest: PackManifest
    origin: Origin
    digest: str
    text: str
    before: InstalledPack | None = None
    change: str = ""
    rights: tuple[RightChange, ...] = ()
    texts: int = 0

    @property
    def is_news(self) -> bool:
        """Whether installing it would change anything."""
        return self.before is None or self.before.approved != self.digest


class OneLook:
    """One look at the packs, for all who ask for them within it: its task, and what that starts."""

    def __init__(self, under_way: ContextVar[OneLook | None]) -> None:
        self.open = False
        self.changes = 0
        self.found: tuple[InstalledPack, ...] | None = None
        self._under_way = under_way
        self._token: Token[OneLook | None] | None = None

    def __enter__(self) -> None:
        self.open, self._token = True, self._under_way.set(self)

    def __exit__(self, *_: object) -> None:
        self.open = False
        if self._token is not None:
            self._under_way.reset(self._token)


def nothing_brought() -> Iterable[Brought]:
    return ()


class InstalledPacks:
    """The packs in ``folder``, and those that ``brought`` finds elsewhere.

    All methods block: call them in a thread. They raise PackError, or StorageError where a file
    cannot be read or written. Listeners are called in the thread of the change.
    """

    def __init__(
        self, folder: Path, brought: Callable[[], Iterable[Brought]] = nothing_brought
    ) -> None:
        self.folder = folder
        self.brought = brought
        self.problems: tuple[str, ...] = ()
        """Sentences about packs that the last ``list`` could not read."""
        self._file = folder / STATE
        self._listeners: list[Callable[[], object]] = []
        self._changes = 0
        """How often something was changed here."""
        self._under_way: ContextVar[OneLook | None] = ContextVar("look", default=None)
        self._read: dict[Path, tuple[object, str, PackManifest, int]] = {}
        """Digests, manifests and readings of folders, while nothing in them changes."""
        self._readings = 0

    def listen(self, changed: Callable[[], object]) -> Callable[[], None]:
        """Call this after each change here; returns what ends that."""
        self._listeners.append(changed)
        return partial(self._leave, changed)

    def _leave(self, changed: Callable[[], object]) -> None:
        with suppress(ValueError):
            self._listeners.remove(changed)

    # What there is

    def once(self) -> OneLook:
        """Within this block the packs are those of its first ``list``, until one changes here."""
        return OneLook(self._under_way)

    def list(self) -> tuple[InstalledPack, ...]:
        """All packs, by name."""
        look = self._under_way.get()
        if look is None or not look.open:
            return self._listed()
        if look.found is None or look.changes != self._changes:
            look.changes, look.found = self._changes, self._listed()
        return look.found

    def on(self) -> tuple[InstalledPack, ...]:
        """The packs that are switched on. Where none is, no files of packs are looked at."""
        if not any(as_object(one).get("on") is True for one in self._said().values()):
            return ()
        return tuple(one for one in self.list() if one.on)

    def _listed(self) -> tuple[InstalledPack, ...]:
        before, said = None, self._said()
        found: dict[str, InstalledPack] = {}
        problems: list[str] = []
        while said != before:  # an update removes the files of before, also while they are read
            found, problems = {}, []
            for id, value in said.items():
                one = as_object(value)
                if isinstance(folder := one.get("folder"), str) and folder:
                    origin = Origin.read(one.get("origin"))
                    self._put(found, problems, origin, self.folder / folder, id)
            for one in self.brought():
                self._put(found, problems, one.origin, one.folder)
            before, said = said, self._said()
        self.problems = tuple(problems)
        packs = [_with_words(one, as_object(said.get(one.id))) for one in found.values()]
        return tuple(sorted(packs, key=lambda one: (one.name.casefold(), one.id)))

    def _put(
        self,
        found: dict[str, InstalledPack],
        problems: list[str],
        origin: Origin,
        folder: Path,
        id: str = "",
    ) -> None:
        try:
            digest, manifest, reading = self._look(folder, fixed=origin.kind == "shipped")
        except (PackError, OSError) as error:
            problems.append(f"{id or folder}: {error}")
            return
        if id and manifest.id != id:
            problems.append(f"{id}: its files are those of {manifest.id}.")
        elif manifest.id in found:
            problems.append(f"{folder}: a pack {manifest.id} is there already.")
        else:
            home = self.home(manifest.id)
            found[manifest.id] = InstalledPack(manifest, origin, home, digest, reading=reading)

    def _look(self, folder: Path, *, fixed: bool = False) -> tuple[str, PackManifest, int]:
        """What a pack is now. One that is ``fixed`` is part of the program: it is read once, and
        has no digest, as nobody has to approve it."""
        known = self._read.get(folder)
        state = None if fixed else state_of(folder)
        if known is None or known[0] != state:
            digest = "" if fixed else digest_of(folder)
            self._readings += 1
            known = self._read[folder] = state, digest, read_manifest(folder), self._readings
        return known[1:]

    def get(self, id: str) -> InstalledPack:
        packs = self.list()
        for one in packs:
            if one.id == id:
                return one
        known = ", ".join(one.id for one in packs) or "none"
        raise PackError(f"There is no pack {id}. Known are: {known}.")

    def running(self, name: str) -> list[tuple[InstalledPack, Part]]:
        """The packs that run and bring something of a kind. Raises nothing: see ``problems``."""
        try:
            found = ((one, one.part(cast("PartName", name))) for one in self.on())
            return [(one, part) for one, part in found if part]
        except StorageError as error:
            self.problems = (str(error),)
            return []

    def places(self, name: str) -> tuple[PackPlace, ...]:
        """Where the packs that run have their files of a kind; of a file, the file itself."""
        return tuple(PackPlace(one.id, one.name, part.path) for one, part in self.running(name))

    def servers(self) -> Entries:
        """The MCP servers of the packs that run; each is off until the person approves it.

        A name belongs to the pack that was installed first.
        """
        found: dict[str, ServerEntry] = {}
        problems: list[str] = []
        running = [pack for pack, _ in self.running("mcp")]
        order = {id: at for at, id in enumerate(self._said())} if running else {}
        for pack in sorted(running, key=lambda one: order.get(one.id, len(order))):
            brought = pack_servers(pack.manifest, pack.data)
            problems += (f"{pack.name}, {one}" for one in brought.problems)
            for name, entry in brought.by_name.items():
                if name in found:
                    problems.append(f"{pack.name}: a server {name} is there already: left out.")
                else:
                    found[name] = entry
            with suppress(OSError):
                private_folder(pack.data)
        return Entries(found, tuple(problems))

    # What the person decides

    def look(self, origin: str, name: str = "") -> Offer:
        """Fetch a pack and say what it brings; nothing of it runs.

        ``origin`` is a folder, a zip file, an address for git, or a marketplace, of which ``name``
        is the pack. Ends with ``add`` or ``forget``.
        """
        from .fetching import fetch

        self._sweep()
        place = private_folder(self.folder / _STAGED) / uuid4().hex
        try:
            fetched = fetch(origin, name, place / "fetched")
            return self._offer(fetched, place)
        except OSError as error:
            shutil.rmtree(place, ignore_errors=True)
            raise PackError(f"{origin} cannot be read: {error.strerror or error}.") from error
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise

    def _offer(self, fetched: Fetched, place: Path) -> Offer:
        from .overview import overview
        from .rights import changed_rights, changed_texts

        kept = place / "pack"
        left_out = copy_pack(fetched.folder, kept)
        shutil.rmtree(place / "fetched", ignore_errors=True)
        manifest = read_manifest(kept)
        problems = dict.fromkeys((*fetched.problems, *left_out, *manifest.problems))
        manifest = replace(manifest, problems=tuple(problems))
        digest = digest_of(kept)
        before = next((one for one in self.list() if one.id == manifest.id), None)
        if before is not None and before.origin.is_in_place:
            raise PackError(f"A pack {manifest.id} is there already; it comes by another way.")
        text = overview(manifest, fetched.origin, digest)
        if before is None:
            return Offer(manifest, fetched.origin, digest, text)
        change = difference(before.manifest.folder, kept)
        rights = changed_rights(before.manifest, manifest)
        texts = changed_texts(before.manifest, manifest)
        return Offer(manifest, fetched.origin, digest, text, before, change, rights, texts)

    def update(self, id: str) -> Offer:
        """Look again where a pack came from; ``add`` installs what was found."""
        pack = self.get(id)
        if pack.origin.is_in_place:
            raise PackError(f"{id} is updated where it was installed, not here.")
        offer = self.look(pack.origin.wanted, pack.origin.name)
        if offer.manifest.id != id:
            self.forget(offer)
            raise PackError(f"{pack.origin.wanted} has another pack now: {offer.manifest.id}.")
        return offer

    def add(
        self, offer: Offer, off: Collection[str] = (), on: Collection[str] = ()
    ) -> InstalledPack:
        """Install what the person saw and approves; it is on then. An update keeps its data.

        ``off`` are parts that are switched off with that, and ``on`` those that are switched on.
        Others stay as they are.
        """
        staged = offer.manifest.folder
        if digest_of(staged) != offer.digest:
            self.forget(offer)
            raise PackError("The files changed meanwhile. Look at the pack again.")
        place = Path("code") / f"{offer.manifest.id}-{offer.digest[:16]}"
        target = self.folder / place
        with self._changing() as said:
            before = as_object(said.get(offer.manifest.id))
            if target.exists():  # the same contents, or what a crash left
                shutil.rmtree(target)
            private_folder(target.parent)
            staged.rename(target)
            said[offer.manifest.id] = {
                "origin": offer.origin.described(),
                "folder": place.as_posix(),
                "approved": offer.digest,
                "on": before.get("on", True) is True,
                "off": [*sorted(_parts_off(before) - {*on} | {*off})],
            }
        old = before.get("folder")
        if isinstance(old, str) and old and old != place.as_posix():
            shutil.rmtree(self.folder / old, ignore_errors=True)
        self.forget(offer)
        self._tell()
        return self.get(offer.manifest.id)

    def forget(self, offer: Offer) -> None:
        """Remove what was looked at and is not wanted."""
        place = offer.manifest.folder.parent
        if place.parent == (self.folder / _STAGED).resolve():
            shutil.rmtree(place, ignore_errors=True)

    def approve(self, id: str, digest: str) -> InstalledPack:
        """The person saw a pack with this digest that stays where it is, or whose files changed."""
        if self.get(id).digest != digest:
            raise PackError("The files changed meanwhile. Look at the pack again.")
        with self._changing() as said:
            said[id] = {**as_object(said.get(id)), "approved": digest, "on": True}
        self._tell()
        return self.get(id)

    def remove(self, id: str, with_data: bool = False) -> Path | None:
        """Remove a pack, also one whose files are gone or damaged.

        Returns where its data stays, None if it has none or it is removed.
        """
        folder = as_object(self._said().get(id)).get("folder")
        if not isinstance(folder, str) or not folder:
            self.get(id)
            raise PackError(f"{id} is removed where it was installed. It can be switched off here.")
        with self._changing() as said:
            said.pop(id, None)
        with suppress(OSError):
            shutil.rmtree(self.folder / folder)
        home = self.home(id)
        try:
            if home.exists() and (with_data or not _has_files(home)):
                shutil.rmtree(home)
        except OSError as error:
            raise StorageError(
                f"The pack is removed, its data in {home} is not: {error.strerror}."
            ) from error
        finally:
            self._tell()
        return home if home.exists() else None

    def home(self, id: str) -> Path:
        """Where a pack keeps its data."""
        return self.folder / id

    def switch(self, id: str, on: bool) -> InstalledPack:
        """Switch a pack on or off; one that is not approved as it is now stays off."""
        self._read.clear()  # also one that ships may be another now, while it is written
        pack = self.get(id)
        if on and pack.approved != pack.digest:
            raise PackError(
                f"{id} is not what you approved. Look at it: agent-studio packs show {id}"
            )
        with self._changing() as said:
            said[id] = {**as_object(said.get(id)), "on": on}
        self._tell()
        return self.get(id)

    def switch_part(self, id: str, part: str, on: bool) -> InstalledPack:
        """Switch a kind of things that a pack brings on or off, by its name or people's word."""
        pack = self.get(id)
        part = next((name for name, word in WORDS.items() if word == part), part)
        if part not in PARTS or part not in pack.manifest.parts():
            known = ", ".join(WORDS.get(one, one) for one in pack.manifest.parts()) or "nothing"
            word = next((word for name, word in WORDS.items() if name == part), part)
            raise PackError(f"{id} brings no {word}. It brings: {known}.")
        off = pack.off - {part} if on else pack.off | {part}
        with self._changing() as said:
            said[id] = {**as_object(said.get(id)), "off": [*sorted(off)]}
        self._tell()
        return self.get(id)

    # The file

    def _said(self) -> JsonObject:
        try:
            text = self._file.read_text("utf-8")
            return as_object(as_object(json.loads(text)).get("packs"))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StorageError(f"{self._file} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise StorageError(f"{self._file} is no JSON: {error}. No pack is used.") from error

    @contextmanager
    def _changing(self) -> Generator[JsonObject, None, None]:
        """What the person said of packs by their ids, written after the block."""
        try:
            with exclusive_access(self._file):
                said = {**self._said()}
                yield said
                text = json.dumps({"packs": said}, indent=2, ensure_ascii=False) + "\n"
                write_atomically(self._file, text.encode("utf-8", "replace"))
        except OSError as error:
            raise StorageError(
                f"{self._file} cannot be written: {error.strerror or error}."
            ) from error

    def _tell(self) -> None:
        self._changes += 1
        for changed in tuple(self._listeners):
            changed()

    def _sweep(self) -> None:
        """Remove what was looked at long ago and never installed."""
        with suppress(OSError):
            for one in (self.folder / _STAGED).iterdir():
                if time.time() - one.stat().st_ctime > _STALE:
                    shutil.rmtree(one, ignore_errors=True)


def _has_files(folder: Path) -> bool:
    return any(not one.is_dir() for one in folder.rglob("*"))


def _with_words(pack: InstalledPack, said: JsonObject) -> InstalledPack:
    """The pack with what the person said of it; what ships with the program needs no approval."""
    approved = said.get("approved")
    return replace(
        pack,
        approved=pack.digest
        if pack.origin.kind == "shipped"
        else approved
        if isinstance(approved, str)
        else "",
        on=said.get("on") is True,
        off=_parts_off(said),
    )


def _parts_off(said: JsonObject) -> frozenset[str]:
    off = said.get("off")
    parts = off if isinstance(off, list) else ()
    return frozenset(one for one in parts if isinstance(one, str))
