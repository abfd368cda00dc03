"""Drafts: describes changes of files and of records that wait for the person (T-5).

``Draft`` is a union, tagged by the class. What a draft of any kind shows is in its
``describe()``; carrying it out and undoing it is in ``studio.tools.drafts.draft_apply``.
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

from .jsonvalue import JsonObject
from .notebooks import compared, is_notebook

DraftAction: TypeAlias = Literal["write", "delete", "move"]
DraftStatus: TypeAlias = Literal[
    "waiting", "approved", "discarded", "superseded", "conflict", "undone"
]
BINARY = "bytes"
"""In place of an encoding where a file is no text: each character of the draft is a byte."""


@dataclass(frozen=True, slots=True)
class DraftDescription:
    """A draft as people and models see it: what it changes, as two texts to compare.

    ``noun`` says what it changes ("file", "record"), ``name`` which one; ``target`` is the new
    name of a moved file. ``before`` is None for a new one and for one that is not text
    (``is_text`` is False then). ``editable`` says whether a person may change ``after`` by hand.
    """

    noun: str
    action: DraftAction
    name: str
    target: str
    before: str | None
    after: str
    is_new: bool
    is_text: bool = True
    editable: bool = False

    @property
    def label(self) -> str:
        return draft_label(self.name, self.target)

    @property
    def file_name(self) -> str:
        """A file name for the text; its ending names the language."""
        ending = {"file": "", "record": ".json"}.get(self.noun, ".txt")
        return self.target or f"{self.name}{ending}"

    @property
    def rewrites(self) -> bool:
        """Whether the text changes; a move may leave it as it is."""
        return self.after != (self.before or "")

    def compared(self) -> tuple[str, str]:
        """The two texts that show people the change: of a notebook those of its cells."""
        if is_notebook(self.file_name) and self.before:
            return compared(self.before, self.after) or (self.before, self.after)
        return self.before or "", self.after

    def counts(self) -> tuple[int, int]:
        """Lines added and removed, as a unified diff would count them."""
        from .line_changes import changed_lines

        before, after = self.compared()
        return changed_lines(before.splitlines(), after.splitlines())


@dataclass(frozen=True, slots=True)
class FileDraft:
    """A change of a file in the session's folder.

    ``path`` is relative to the session's folder, with forward slashes.
    ``before`` is the file's text when the draft was made, None for a new file;
    ``base_digest`` the SHA-256 hex of the file's bytes then (empty for a new
    file), so that a file that has changed since is never overwritten.
    ``before`` and ``after`` have the line ends of the file. A draft that
    deletes has an empty ``after``; one that moves has the new path in ``target``.
    """

    id: str
    path: str
    before: str | None
    after: str
    base_digest: str
    encoding: str = "utf-8"
    status: DraftStatus = "waiting"
    action: DraftAction = "write"
    target: str = ""
    patch: str = ""
    """Set in the drafts of one patch alike: they are approved together or not at all (C-8)."""

    @property
    def label(self) -> str:
        return draft_label(self.path, self.target)

    @property
    def keys(self) -> frozenset[tuple[str, str]]:
        """What it changes; a newer open draft with a common key supersedes an older one."""
        return frozenset(("file", path) for path in self.paths)

    @property
    def paths(self) -> list[str]:
        """The files that it changes when it is applied."""
        return [self.path, self.target] if self.target else [self.path]

    @property
    def rewrites(self) -> bool:
        """Whether the text changes; a move may leave it as it is."""
        return self.after != (self.before or "")

    def describe(self) -> DraftDescription:
        is_text = self.before is not None or not self.base_digest
        is_text = is_text and self.encoding != BINARY
        return DraftDescription(
            noun="file",
            action=self.action,
            name=self.path,
            target=self.target,
            before=self.before,
            after=self.after,
            is_new=not self.base_digest,
            is_text=is_text,
            editable=is_text and self.action != "delete",
        )


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """A change of one record in a record store, such as a contact or a row of a table.

    ``store`` is the store's name, ``key`` the record's in it. ``before`` is the record when
    the draft was made, None for a new one; ``after`` is None for a draft that deletes it.
    A record that no longer equals ``before`` is never overwritten.
    """

    id: str
    store: str
    key: str
    before: JsonObject | None
    after: JsonObject | None
    status: DraftStatus = "waiting"

    @property
    def action(self) -> DraftAction:
        return "delete" if self.after is None else "write"

    @property
    def label(self) -> str:
        return f"{self.store}/{self.key}"

    @property
    def keys(self) -> frozenset[tuple[str, str]]:
        """What it changes; see ``FileDraft.keys``."""
        return frozenset({(f"record {self.store}", self.key)})

    def describe(self) -> DraftDescription:
        return DraftDescription(
            noun="record",
            action=self.action,
            name=self.label,
            target="",
            before=None if self.before is None else record_text(self.before),
            after="" if self.after is None else record_text(self.after),
            is_new=self.before is None,
        )


@dataclass(frozen=True, slots=True)
class KindDraft:
    """A draft of a kind that a pack brings; only a person can approve it (KZ-5).

    ``kind`` is the pack's id and its name of the kind: ``notes:note``. ``key`` is what it changes,
    ``fields`` what it says. ``title``, ``before`` and ``after`` are how it was shown when it was
    made, so that it can be read without the pack. ``noun`` is what people call such a thing.
    ``editable`` says whether the pack takes ``after`` with a person's own words.
    """

    id: str
    kind: str
    key: str
    fields: JsonObject
    title: str
    before: str | None
    after: str
    noun: str = "entry"
    action: DraftAction = "write"
    status: DraftStatus = "waiting"
    editable: bool = False

    @property
    def label(self) -> str:
        return self.title

    @property
    def keys(self) -> frozenset[tuple[str, str]]:
        """What it changes; see ``FileDraft.keys``."""
        return frozenset({(self.kind, self.key)})

    def describe(self) -> DraftDescription:
        return DraftDescription(
            noun=self.noun,
            action=self.action,
            name=self.title,
            target="",
            before=self.before,
            after=self.after,
            is_new=self.before is None,
            editable=self.editable,
        )


Draft: TypeAlias = FileDraft | RecordDraft | KindDraft


def draft_label(name: str, target: str) -> str:
    """The name of what a draft changes, and its new name if it moves."""
    return f"{name} → {target}" if target else name


def text_digest(text: str) -> str:
    """The SHA-256 hex of a text, however it is encoded in its file."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def record_text(record: JsonObject) -> str:
    """A record as indented JSON, for people to read and to compare."""
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"
