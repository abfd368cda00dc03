"""Persons' acts: proofs that a person decided a draft as it was shown to them (KZ-5).

A proof is an object and no text: nothing that a model, a rule, a client or a file says can be one.
It is made by the one ``ActDesk`` of an ``ActBook``, which a door takes at its start, before any
turn of an agent runs; from the first turn on nobody gets the desk any more. A proof is for one
decision about one draft with this content, and is used up by it.

Python that runs in the program has the person's rights and could change this very module: that is
why other people's Python never does (X-4).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Literal, NoReturn, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from studio.domain.drafts import KindDraft
from studio.domain.errors import ToolFailed
from studio.domain.persons import NOBODY, Person

Door: TypeAlias = Literal["window", "command line", "prompt"]
"""Where a person decided."""
Decided: TypeAlias = Literal["approve", "undo"]

NO_PROOF = (
    "only a person can decide this: in the window, at the prompt of a chat in a terminal, or there "
    "with agent-studio drafts."
)


class PersonsAct:
    """A person's decision about one draft: who, where, what."""

    __slots__ = ("__weakref__", "decision", "door", "draft_id", "person")

    person: Person
    door: Door
    decision: Decided
    draft_id: str

    def __init__(self) -> None:
        raise TypeError("Nobody but the desk of a door makes one.")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("A decision that was made does not change.")

    def __reduce__(self) -> NoReturn:
        raise TypeError("A decision cannot be kept or copied.")


_HAPPENING: WeakSet[PersonsAct] = WeakSet()
"""The decisions that are being carried out at this moment."""
Acts: TypeAlias = Mapping[str, PersonsAct]
"""Decisions by the ids of their drafts."""


NO_ACTS: Acts = MappingProxyType({})


def require(act: object, decision: Decided, draft: KindDraft) -> None:
    """Raise ToolFailed unless this decision about this draft is being carried out now."""
    if (
        not isinstance(act, PersonsAct)
        or act not in _HAPPENING
        or (act.decision, act.draft_id) != (decision, draft.id)
    ):
        raise ToolFailed(f"Nothing was done: {NO_PROOF}")


class ActBook:
    """Checks decisions, and gives out its desk once."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[PersonsAct, str] = WeakKeyDictionary()
        self._closed = False

    def desk(self, door: Door) -> ActDesk | None:
        """The desk, for the door that asks first and before any turn runs; None for any other."""
        if self._closed:
            return None
        self._closed = True
        return ActDesk(self._made, door)

    def close(self) -> None:
        """A turn is about to run: nobody gets the desk from now on."""
        self._closed = True

    @contextmanager
    def carrying_out(
        self, act: PersonsAct | None, decision: Decided, draft: KindDraft, person: Person
    ) -> Generator[PersonsAct]:
        """Use a decision up; raises ToolFailed if it is none about this, as the draft is now.

        ``person`` is who works here, as the pack says.
        """
        # Another thread may come with the same proof: who takes it out has it.
        told = self._made.pop(act, "") if type(act) is PersonsAct else ""
        if act is None or told != _about(decision, draft):
            raise ToolFailed(f"Nothing was done: {NO_PROOF}")
        object.__setattr__(act, "person", person)
        _HAPPENING.add(act)
        try:
            yield act
        finally:
            _HAPPENING.discard(act)


class ActDesk:
    """Makes proofs of what a person does at one door. Only the code of that door holds it, and
    calls it where a click or a typed answer arrives."""

    __slots__ = ("_door", "_made")

    def __init__(self, made: WeakKeyDictionary[PersonsAct, str], door: Door) -> None:
        self._made = made
        self._door: Door = door

    def decided(self, decision: str, drafts: Iterable[object], door: Door | None = None) -> Acts:
        """What the person decided just now about drafts that they see; those of files need none."""
        found: dict[str, PersonsAct] = {}
        for draft in drafts:
            if isinstance(draft, KindDraft):
                act = object.__new__(PersonsAct)
                set_once = object.__setattr__
                set_once(act, "person", NOBODY)  # until it is carried out
                set_once(act, "door", door or self._door)
                set_once(act, "decision", decision)
                set_once(act, "draft_id", draft.id)
                self._made[act] = _about(decision, draft)
                found[draft.id] = act
        return found


def _about(decision: str, draft: KindDraft) -> str:
    """The digest of a decision about a draft as it is shown, whatever its status."""
    shown = [
        *(decision, draft.id, draft.kind, draft.key, draft.title, draft.action),
        *(draft.before, draft.after, draft.fields),
    ]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()
