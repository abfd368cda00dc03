"""Draft kinds: lets packs bring drafts of their own, which only a person can approve (KZ-5)."""

from __future__ import annotations

import functools
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any, Protocol, cast

from studio.domain.drafts import DraftAction, KindDraft
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject
from studio.domain.persons import Person
from studio.domain.records import dataclass
from studio.domain.tools import ToolSpec
from studio.processes.daemon_thread import in_daemon_thread
from studio.tools.drafts.draft_conflict import Conflict
from studio.tools.drafts.draft_make import propose as propose_draft
from studio.tools.drafts.draft_write import DraftConflict
from studio.tools.sdk.argument_check import check
from studio.tools.sdk.context import Context
from studio.tools.sdk.definition import build, schema_of
from studio.tools.sdk.result import Result

from .home import Home
from .persons_act import Decided, PersonsAct, require


@dataclass(frozen=True, slots=True)
class Shown:
    """How a draft is shown: a title, and what it changes as two texts.

    ``key`` names the thing that it changes: a newer draft of the same thing supersedes an older
    one. ``before`` is None for a new thing.
    """

    key: str
    title: str
    after: str
    before: str | None = None
    action: DraftAction = "write"


class DraftKind(ABC):
    """A kind of drafts that a pack brings. Each method may block: it is called in a thread.

    ``name`` is stored with each draft and never changes; ``noun`` is what people call the thing.
    ``fields`` is a dataclass with type hints: what a draft says. ``approve`` and ``undo`` do their
    work in one transaction, and find it done if the program ended before it could note that. They
    run only with the proof of a person's act that is going on, which nobody can make here.
    """

    name: str
    noun: str = "entry"
    fields: type

    @abstractmethod
    def show(self, fields: Any, home: Home) -> Shown:
        """How these fields are shown, as the records are now; raises ToolFailed for wrong ones."""

    @abstractmethod
    def approve(self, draft: KindDraft, fields: Any, home: Home, act: PersonsAct) -> None:
        """Make it so; raises ToolFailed if it cannot be, or this person may not."""

    @abstractmethod
    def undo(self, draft: KindDraft, fields: Any, home: Home, act: PersonsAct) -> None:
        """Put back what ``approve`` changed; raises ToolFailed if something depends on it."""

    def conflict(self, draft: KindDraft, fields: Any, home: Home) -> str:
        """Why the draft does not fit any more what there is now; empty if it does."""
        now = self.show(fields, home)
        if now.before in (draft.before, draft.after):  # unchanged, or done already
            return ""
        return f"{draft.title} changed since the draft was made. Nothing was changed."

    def edit(self, draft: KindDraft, fields: Any, text: str, home: Home) -> Any:
        """The fields of a draft whose text a person changed by hand; a kind that has this lets
        its drafts be edited. Raises ToolFailed for a text that it cannot read."""
        raise ToolFailed(f"The draft of a {self.noun} cannot be edited by hand.")

    def settled(self, draft: KindDraft, fields: Any, home: Home, reason: str) -> None:  # noqa: B027
        """Told after a draft was made, and after each change of its status, which the draft has.

        ``reason`` is what the person said as they discarded it, or why it was not carried out.
        A program that is killed tells nothing, so ``approve`` and ``undo`` do not rely on it.
        """

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        for decision in ("approve", "undo"):
            if decision in vars(cls):
                setattr(cls, decision, _proved(decision, vars(cls)[decision]))


def _proved(decision: Decided, work: Callable[..., None]) -> Callable[..., None]:
    """The work, which does nothing unless it gets the proof of what a person does now."""

    @functools.wraps(work)
    def checked(
        self: DraftKind, draft: KindDraft, fields: Any, home: Home, act: PersonsAct
    ) -> None:
        require(act, decision, draft)
        work(self, draft, fields, home, act)

    return checked


class OpenKind(Protocol):
    """A kind of drafts with what it works on. All of it blocks and may raise ToolFailed."""

    def make(self, fields: JsonObject) -> KindDraft:
        """A new draft of these fields."""
        ...

    def person(self) -> Person:
        """Who works here, as the pack says."""
        ...

    def conflict(self, draft: KindDraft) -> str: ...

    def approve(self, draft: KindDraft, act: PersonsAct) -> None: ...

    def undo(self, draft: KindDraft, act: PersonsAct) -> None: ...

    def edit(self, draft: KindDraft, text: str) -> KindDraft:
        """The draft anew with what a person made of its text."""
        ...

    def settled(self, draft: KindDraft, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class LocalKind:
    """A kind of a pack in this process."""

    kind: DraftKind
    home: Home

    def make(self, fields: JsonObject) -> KindDraft:
        kind = self.kind
        spec = ToolSpec(f"A draft of {kind.noun}", "", schema_of(kind.fields))
        fields = check(spec, fields)
        shown = kind.show(build(kind.fields, fields), self.home)
        return KindDraft(
            uuid.uuid4().hex,
            f"{self.home.id}:{kind.name}",
            shown.key,
            fields,
            shown.title,
            shown.before,
            shown.after,
            kind.noun,
            shown.action,
            editable=type(kind).edit is not DraftKind.edit,
        )

    def person(self) -> Person:
        return self.home.person

    def conflict(self, draft: KindDraft) -> str:
        return self.kind.conflict(draft, self._fields(draft), self.home)

    def approve(self, draft: KindDraft, act: PersonsAct) -> None:
        self.kind.approve(draft, self._fields(draft), self.home, act)

    def undo(self, draft: KindDraft, act: PersonsAct) -> None:
        self.kind.undo(draft, self._fields(draft), self.home, act)

    def edit(self, draft: KindDraft, text: str) -> KindDraft:
        fields = self.kind.edit(draft, self._fields(draft), text, self.home)
        return self.make(cast("JsonObject", asdict(fields)))

    def settled(self, draft: KindDraft, reason: str) -> None:
        self.kind.settled(draft, self._fields(draft), self.home, reason)

    def _fields(self, draft: KindDraft) -> Any:
        return build(self.kind.fields, draft.fields)


def compare_kind(kind: OpenKind, draft: KindDraft) -> Conflict:
    """A draft beside what it changes, as that is now."""
    now = kind.make(draft.fields)
    return Conflict(draft, draft.before, now.before, draft.after, None)


def require_fit(kind: OpenKind, draft: KindDraft) -> None:
    """Raise DraftConflict where a draft does not fit any more."""
    if why := kind.conflict(draft):
        raise DraftConflict(why)


async def propose(context: Context, kind: DraftKind, fields: object) -> Result:
    """Propose a draft to the person, who alone can approve it; returns the tool's result.

    ``fields`` is an object of the kind's class for them.
    """
    if not is_dataclass(fields) or isinstance(fields, type):
        raise ToolFailed(f"The fields of a draft have to be a {kind.fields.__name__}.")
    said = cast("JsonObject", asdict(fields))
    draft = await in_daemon_thread(lambda: LocalKind(kind, context.home).make(said))
    return await propose_draft(context, draft)


__all__ = [
    "DraftKind",
    "LocalKind",
    "OpenKind",
    "Shown",
    "compare_kind",
    "propose",
    "require_fit",
]
