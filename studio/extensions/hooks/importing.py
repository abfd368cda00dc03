"""Hook import: takes hooks over from the settings of Claude Code, which stay as they are (K-8).

What is taken over is off until the person approves it, as any hook. Methods block on the disk.
"""

from __future__ import annotations

import json
from pathlib import Path

from studio.agent.folder_files import PROJECT_HOOKS
from studio.domain.errors import ConfigurationError, StorageError
from studio.domain.hooks import Hook
from studio.domain.jsonvalue import Json, JsonObject, as_object
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import exclusive_access
from studio.mcp.jsonc import read_jsonc

from .hook_file import MAX_BYTES, parse_hooks

SETTINGS = (Path(".claude") / "settings.json", Path(".claude") / "settings.local.json")


@dataclass(frozen=True, slots=True)
class Imported:
    """What was taken over, and from which files. ``hooks`` says of each what is not run here."""

    target: Path
    sources: tuple[Path, ...]
    hooks: tuple[Hook, ...]


def settings_of(folder: Path) -> list[Path]:
    """The settings of Claude Code in a folder, or in the home folder."""
    return [folder / one for one in SETTINGS if (folder / one).is_file()]


def target_in(folder: Path) -> Path:
    """Where the hooks of a folder are."""
    return folder / PROJECT_HOOKS


def take_over(sources: list[Path], target: Path) -> Imported:
    """Add the hooks of some files to one of ours; those that are there already are not doubled.

    Raises ConfigurationError for a file that cannot be read, and StorageError.
    """
    taken: list[Hook] = []
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with exclusive_access(target):
            whole = _read(target) if target.exists() else {}
            own: dict[str, Json] = {**as_object(whole.get("hooks", whole))}
            for source in sources:
                for event, groups in as_object(_read(source).get("hooks")).items():
                    there = own.get(event)
                    known = [*there] if isinstance(there, list) else []
                    new = [one for one in _groups(groups) if one not in known]
                    if new:
                        own[event] = [*known, *new]
                        data = json.dumps({event: new}).encode()
                        taken += parse_hooks(data, str(source), "own")[0]
            if taken:
                kept = whole if "hooks" in whole else {}
                text = json.dumps({**kept, "hooks": own}, indent=2, ensure_ascii=False) + "\n"
                write_atomically(target, text.encode("utf-8", "replace"))
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror}.") from error
    return Imported(target, tuple(sources), tuple(taken))


def _groups(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _read(path: Path) -> JsonObject:
    try:
        with path.open("rb") as file:
            data = file.read(10 * MAX_BYTES)
        value = read_jsonc(data.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: {error}. Mend it first; nothing was written.") from error
    if not isinstance(value, dict):
        raise ConfigurationError(f"{path} has no JSON object. Nothing was written.")
    return value
