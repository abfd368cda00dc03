"""Model folder: lists and deletes model files, whole ones and those whose download was begun.

Beside ``NAME.gguf`` lies ``NAME.gguf.json``, the record of where it came from; while it is
fetched the file is ``NAME.gguf.part``. A file without a record was put there by the person.
Each part of a model in several parts is such a file; the first stands for the model.
``NAME.mmproj`` beside it is its projector, by which the model sees pictures.
``.NAME.gguf.lock`` is locked by the program that fetches the model.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from studio.domain.jsonvalue import JsonObject, as_count, as_object, as_text
from studio.files.atomic_write import write_atomically

from .gguf import ModelFacts, NotGguf, part_files, projector_of, read_facts, without_part

SUFFIX, PART, RECORD = ".gguf", ".gguf.part", ".gguf.json"
_QUANTIZATION = re.compile(
    r"(?<![A-Za-z0-9])((?:UD-)?I?Q\d(?:_[A-Z0-9]+)*|BF16|F16|F32|MXFP4)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,150}\.gguf")


@dataclass(frozen=True, slots=True)
class Source:
    """A model of a repository, by its file or the first of its parts.

    ``size`` in bytes, of all files, and ``sha256`` of the one file are empty where not known.
    ``projector`` is the file by which it sees pictures, empty for a model of words.
    """

    repo: str
    file: str
    size: int = 0
    sha256: str = ""
    title: str = ""
    projector: str = ""

    @property
    def name(self) -> str:
        """What the file is called here; ValueError for a name that no model file has."""
        name = self.file.rsplit("/", 1)[-1]
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a model file")
        return name

    @property
    def id(self) -> str:
        return self.name.removesuffix(SUFFIX)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model that can be run. ``facts`` is None for one that cannot be read.

    ``path`` is its first part, ``size`` that of all; ``missing`` says how many are not there.
    """

    path: Path
    size: int
    source: Source | None
    facts: ModelFacts | None
    missing: int = 0

    @property
    def id(self) -> str:
        return self.path.name.removesuffix(SUFFIX)

    @property
    def runs(self) -> bool:
        """Whether it is all there, can be read, and was made for conversations."""
        return self.facts is not None and self.facts.chats and not self.missing

    @property
    def sees(self) -> bool:
        """Whether it can be given pictures."""
        return self.runs and projector_of(self.path).exists()

    @property
    def title(self) -> str:
        return (self.source and self.source.title) or title_of(self.id)


@dataclass(frozen=True, slots=True)
class BegunFile:
    """A download that was begun; ``done`` is in bytes."""

    path: Path
    done: int
    source: Source


def model_files(folder: Path) -> list[ModelFile]:
    """The models by name; none where there is no such folder. Blocks."""
    begun = {one.path for one in begun_files(folder)}
    found: list[ModelFile] = []
    for path in sorted(folder.glob(f"*{SUFFIX}"), key=lambda one: one.name.lower()):
        parts = part_files(path)
        if path != parts[0] or (len(parts) > 1 and path in begun):
            continue
        with suppress(OSError):
            facts = None
            with suppress(NotGguf):
                facts = read_facts(path)
            here = _sizes(parts)
            missing = len(parts) - len(here)
            size = sum(here) + sum(_sizes([projector_of(path)]))
            found.append(ModelFile(path, size, read_source(path), facts, missing))
    return found


def begun_files(folder: Path) -> list[BegunFile]:
    """Downloads that were begun and have a record, by name. Blocks."""
    found: list[BegunFile] = []
    for record in sorted(folder.glob(f"*{RECORD}")):
        path = record.with_name(record.name.removesuffix(".json"))
        parts = part_files(path)
        if path != parts[0] or is_whole(path):
            continue
        with suppress(OSError):
            files = [projector_of(path), *parts]
            now = [part_of(one) if part_of(one).exists() else one for one in files]
            source, done = read_source(path), _sizes(now)
            if source is not None and done:
                found.append(BegunFile(path, sum(done), source))
    return found


def is_whole(path: Path) -> bool:
    """Whether no part of a model is missing or still being fetched, from its first part."""
    parts = part_files(path)
    return all(part.exists() for part in parts) and not any(part_of(one).exists() for one in parts)


def _sizes(files: list[Path]) -> list[int]:
    """The sizes of those that are there."""
    return [file.stat().st_size for file in files if file.exists()]


def read_source(path: Path) -> Source | None:
    """The record of a file; None where there is none that can be read."""
    try:
        data = as_object(json.loads(record_of(path).read_text("utf-8")))
    except (OSError, ValueError):
        return None
    source = Source(
        as_text(data.get("repo")),
        as_text(data.get("file")),
        as_count(data.get("size")),
        as_text(data.get("sha256")),
        as_text(data.get("title")),
        as_text(data.get("projector")),
    )
    return source if source.repo and source.file else None


def write_source(path: Path, source: Source) -> None:
    """Raises OSError."""
    record: JsonObject = asdict(source)
    write_atomically(record_of(path), json.dumps(record, indent=1).encode())


def place_of(folder: Path, source: Source) -> Path:
    """Where a file belongs: by its own name, or with its owner's where another has that."""
    path = folder / source.name
    other = read_source(path)
    taken = path.exists() if other is None else other.repo != source.repo
    if not taken:
        return path
    owner = re.sub(r"[^A-Za-z0-9]+", "-", source.repo.partition("/")[0]).strip("-") or "other"
    return folder / f"{owner}-{source.name}"


def part_of(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def record_of(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def lock_of(path: Path) -> Path:
    """What the program locks that fetches a model, by its first part."""
    return path.with_name(f".{path.name}.lock")


def delete(path: Path) -> None:
    """Delete a model by its first part, with begun downloads and records. Raises OSError."""
    for part in (*part_files(path), projector_of(path)):
        for one in (part, part_of(part), record_of(part)):
            one.unlink(missing_ok=True)
    with suppress(OSError):  # another program may have it open
        lock_of(path).unlink(missing_ok=True)


def quantization(name: str) -> str:
    """“Q4_K_M” from a file's name; empty where it does not say."""
    found = _QUANTIZATION.findall(name)
    return found[-1].upper() if found else ""


def title_of(name: str) -> str:
    """“Qwen3 4B” from “Qwen3-4B-Q4_K_M” or “Qwen3-4B-GGUF”."""
    whole = without_part(f"{name}{SUFFIX}").removesuffix(SUFFIX)
    text = _QUANTIZATION.sub("", re.sub(r"(?i)[-_.]?gguf$", "", whole))
    return re.sub(r"[-_\s]+", " ", text).strip(" .") or name
