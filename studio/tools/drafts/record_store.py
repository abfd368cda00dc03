"""Record stores: makes drafts of records, and carries them out in their store."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod

from studio.domain.drafts import RecordDraft, record_text
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject

from .draft_conflict import Conflict
from .draft_write import DraftConflict


class RecordStore(ABC):
    """Keeps records of one kind, each a JSON object under a key.

    A tool file assigns one to a module-level name, where ``ToolDiscovery`` finds it. Drafts
    refer to it by ``name``, also after a restart. Both methods may block; they are called
    in a thread, and may raise ToolFailed.
    """

    name: str

    @abstractmethod
    def read(self, key: str) -> JsonObject | None:
        """The record as it is now; None if there is none."""

    @abstractmethod
    def replace(self, key: str, before: JsonObject | None, after: JsonObject | None) -> bool:
        """Write ``after`` if the record is still ``before``, in one step; else return False.

        None stands for no record: it is created, or deleted.
        """


def make_record_draft(store: RecordStore, key: str, after: JsonObject | None) -> RecordDraft:
    """A draft that would make ``after`` the record under ``key``, or delete it; blocks."""
    before = store.read(key)
    if before == after:
        raise ToolFailed(f"{store.name}/{key} is like this already. Nothing to change.")
    return RecordDraft(uuid.uuid4().hex, store.name, key, before, after)


def compare_record(store: RecordStore, draft: RecordDraft) -> Conflict:
    """A draft beside its record as it is now."""
    about, now = draft.describe(), store.read(draft.key)
    theirs = None if now is None else record_text(now)
    return Conflict(draft, about.before, theirs, about.after or None, None)


def change_record(
    store: RecordStore,
    draft: RecordDraft,
    old: JsonObject | None,
    new: JsonObject | None,
    since: str,
) -> None:
    """Make ``new`` the draft's record if it is ``old``; raises DraftConflict if it is not.

    A record that is ``new`` already is no conflict: the program ended before it said so.
    ``since`` says in words when the record was ``old``.
    """
    if not store.replace(draft.key, old, new) and store.read(draft.key) != new:
        name = draft.describe().label
        raise DraftConflict(f"{name} changed since {since}. Nothing was changed.")
