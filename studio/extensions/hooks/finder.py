"""Hook finder: finds the hooks that count in a folder: its own, and the person's (K-8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from studio.agent.folder_files import PROJECT_HOOKS, FolderFiles, read_folder_files
from studio.agent.hooks.content import files_of, sum_of
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.extensions import Finding
from studio.domain.hooks import Hook, HookPlace, Hooks
from studio.domain.records import dataclass
from studio.extensions.packs.installed import InstalledPacks
from studio.storage.paths import Paths

from .consents import HookConsents, id_of
from .hook_file import MAX_BYTES, parse_hooks

HOOKS_FILE = "hooks.json"


@dataclass(frozen=True, slots=True)
class HookSource:
    """A file of hooks from elsewhere, such as a pack; ``root`` is that pack's folder, ``name`` what
    people call it."""

    path: Path
    root: str = ""
    name: str = ""


class HookFinder:
    """Reads the files at each call, so that saved changes apply at once. Methods block.

    ``more`` are files of hooks that others bring.
    """

    def __init__(self, paths: Paths, more: Callable[[], Sequence[HookSource]] = tuple) -> None:
        self.own = paths.config / HOOKS_FILE
        """The person's own file."""
        self._more = more
        self._home = paths.home
        self._consents = HookConsents(paths.data / "approved_hooks.json")

    def read(self, files: FolderFiles, trusted: bool) -> Hooks:
        """The hooks that count; those of a folder only where it is trusted."""
        folder = Path(files.place)
        found: list[Hook] = []
        findings: list[Finding] = []
        if trusted and files.hooks is not None:
            path = str(files.folder / PROJECT_HOOKS)
            self._take(files.hooks, path, "folder", folder, found, findings)
        for source in self._more():
            data = _content(source.path, findings)
            hooks: list[Hook] = []
            self._take(data, str(source.path), "pack", folder, hooks, findings, source.root)
            known = {one.id for one in found}
            found += [replace(one, pack=source.name) for one in hooks if one.id not in known]
        self._take(_content(self.own, findings), str(self.own), "own", folder, found, findings)
        said, unread = self._consents.known() if found else ({}, "")
        if unread:
            findings.append(Finding(str(self._consents.path), unread, left_out=True))
        return Hooks(tuple(self._consents.agreed(one, said) for one in found), tuple(findings))

    def switch(self, hook: Hook, on: bool) -> None:
        """Approve a hook as it is and switch it on, or switch it off.

        Raises ConfigurationError for one that is never run, and StorageError.
        """
        if hook.state == "never":
            raise ConfigurationError(f"This hook is not run here. {hook.reason}")
        self._consents.say(hook, on=on)

    def in_folder(self, folder: Path) -> Hooks:
        """All hooks of a folder and of the person's, as if the folder was trusted."""
        return self.read(read_folder_files(folder), True)

    def _take(
        self,
        data: bytes,
        path: str,
        place: HookPlace,
        folder: Path,
        found: list[Hook],
        findings: list[Finding],
        root: str = "",
    ) -> None:
        hooks, wrong = parse_hooks(data, path, place, root)
        findings += wrong
        for one in hooks:
            files = files_of(one.command, folder, self._home, root)
            whole = replace(one, files=files)
            here = place == "folder" or files != files_of(one.command, None, self._home, root)
            whose = str(folder) if here else ""
            whole = replace(whole, id=id_of(whole, whose), digest=sum_of(whole, folder))
            if all(whole.id != other.id for other in found):  # the same twice is once
                found.append(whole)


def pack_hooks(packs: InstalledPacks) -> list[HookSource]:
    """The files of hooks of the packs that are on. Blocks."""
    found: list[HookSource] = []
    with suppress(StudioError):  # the page of packs says what is wrong
        for one in packs.on():
            if (part := one.part("hooks")) is not None:
                root = str(one.manifest.folder)
                found += [HookSource(path, root, one.name) for path in part.files]
    return found


def _content(path: Path, findings: list[Finding]) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        findings.append(Finding(str(path), error.strerror or str(error), left_out=True))
        return b""
