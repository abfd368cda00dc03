"""Pack home: holds what the code of one pack works with: records, services, the person."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypeVar

from studio.domain.errors import ToolFailed
from studio.domain.extensions import Value
from studio.domain.persons import NOBODY, Person

T = TypeVar("T")


class Records(Protocol):
    """The database of one pack. All of it blocks: call it in a thread, as plain functions
    that are tools do."""

    def read(self, sql: str, *values: Value) -> list[dict[str, Value]]:
        """The rows that a query finds."""
        ...

    def write(self, sql: str, *values: Value) -> int:
        """Change rows; returns the id of the row that was added, or how many were changed."""
        ...

    def together(self) -> AbstractContextManager[object]:
        """What is written inside is kept as a whole, or not at all."""
        ...

    def copy(self, target: Path) -> None:
        """A whole copy in a new file, as all was at one moment, while others go on writing."""
        ...

    def replace(self, source: Path) -> None:
        """Have all that such a copy has, and nothing else; what was here is kept beside the file.

        Raises ToolFailed for a file that is no such copy, or of a newer version."""
        ...

    def file_key(self, *, opening: bool = False) -> bytes | None:
        """A key for files of the pack, made of that of its records, so that the same recovery sheet
        brings both back. None where they are not encrypted; with ``opening``, where the keychain
        has no key."""
        ...


class NoRecords:
    """For code without a database."""

    def read(self, sql: str, *values: Value) -> list[dict[str, Value]]:
        raise ToolFailed(NO_RECORDS)

    def write(self, sql: str, *values: Value) -> int:
        raise ToolFailed(NO_RECORDS)

    def together(self) -> AbstractContextManager[object]:
        raise ToolFailed(NO_RECORDS)

    def copy(self, target: Path) -> None:
        raise ToolFailed(NO_RECORDS)

    def replace(self, source: Path) -> None:
        raise ToolFailed(NO_RECORDS)

    def file_key(self, *, opening: bool = False) -> bytes | None:
        return None


NO_RECORDS = "There are no records here: the pack has no folder schema."


class Home(Protocol):
    """Everything that the code of one pack has of the studio outside of a call."""

    @property
    def id(self) -> str:
        """The pack's."""
        ...

    @property
    def folder(self) -> Path:
        """The pack's own files, to read."""
        ...

    @property
    def records(self) -> Records: ...

    @property
    def person(self) -> Person:
        """Who works with the studio now."""
        ...

    def service(self, kind: type[T]) -> T:
        """The pack's service of a class; raises ToolFailed if it names none."""
        ...

    def settings(self, kind: type[T]) -> T:
        """What the person set for the pack, as the class that its ``Pack`` names."""
        ...

    def forget(self, subject: str) -> int:
        """Delete the chats about a thing of the pack for good, with their drafts, histories and
        what the audit kept of their words; returns how many. Blocks: in a thread, never in
        ``together``."""
        ...


class NoHome:
    """For a tool that no pack brings."""

    id = ""
    folder = Path()
    records: Records = NoRecords()
    person = NOBODY

    def service(self, kind: type[T]) -> T:
        raise ToolFailed(f"There is no {kind.__name__} here.")

    def settings(self, kind: type[T]) -> T:
        return kind()

    def forget(self, subject: str) -> int:
        return 0
