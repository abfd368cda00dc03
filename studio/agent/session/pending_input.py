"""Pending input: what the model has to be told with the next request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from studio.agent.changes.draft_store import DraftStore
from studio.domain.drafts import DraftStatus
from studio.domain.events import (
    DraftResolved,
    Event,
    FilesRestored,
    HistoryBegun,
    StepStarted,
    Told,
    ToolFinished,
    TurnStarted,
)
from studio.domain.messages import Said, Text

NAMED = 40
"""Paths that a note names; it counts the others."""


class PendingInput:
    """Made from a session's stored events, kept by those that follow.

    ``said`` is what the person said in turns that ended before the history had
    it: a turn's first step and its words are stored together. ``notes`` is what
    the next request has to tell beside it. ``epoch`` is the native history's
    last one as the events tell, 0 before any.
    """

    def __init__(self, events: Iterable[Event], drafts: DraftStore) -> None:
        self.said: list[Said] = []
        self.notes: list[Told] = []
        self.epoch = 0
        self._drafts = drafts
        self._undone: dict[str, Told] = {}
        restored: set[str] = set()
        for event in events:
            match event:
                case StepStarted() | ToolFinished():
                    self.notes.clear()  # a request or a tool's result told it
                case FilesRestored():
                    restored.update(event.drafts)  # the note on the files tells of them
                case DraftResolved() if event.draft_id in restored:
                    restored.remove(event.draft_id)
                case DraftResolved():
                    self.drafts_ended({event.draft_id: event.status})
                case Told():
                    continue  # the program may have ended before the history had it
                case _:
                    pass
            self.apply(event)

    def apply(self, event: Event) -> None:
        match event:
            case TurnStarted():
                self.said.extend(event.said)
            case StepStarted():
                self.said.clear()
            case Told() if event in self.notes:
                self.notes.remove(event)
            case HistoryBegun():  # it has the calls that made drafts, not what came of them
                self.epoch = event.epoch
                self.draft_told(self._drafts.ends())
                self.notes += (note for note in self._undone.values() if note not in self.notes)
            case FilesRestored():
                self._files_restored(event)
            case _:
                pass

    def words(self, said: Sequence[Said]) -> list[Said]:
        """What a turn sends: what was kept, then what is said now; blanks alone are nothing."""
        words = [*self.said, *said]
        blank = all(isinstance(part, Text) and not part.text.strip() for part in words)
        return [] if blank else words

    def drafts_ended(self, ends: Mapping[str, DraftStatus]) -> None:
        """What became of drafts, by id, in one note."""
        notes = (self._drafts.note(draft_id, status) for draft_id, status in ends.items())
        self.draft_told("\n".join(filter(None, notes)))

    def _files_restored(self, event: FilesRestored) -> None:
        unheard = self._undone.pop(event.turn_id, None)
        if unheard in self.notes:
            self.notes.remove(unheard)
            if not event.undone:
                return  # as if nothing had been
        if text := told(event):
            note = Told("files", text)
            self.notes.append(note)
            if event.undone:
                self._undone[event.turn_id] = note

    def draft_told(self, text: str) -> None:
        if text:
            self.notes.append(Told("draft", text))


def told(event: FilesRestored) -> str:
    """What the model is told; empty if nothing was restored."""
    if not event.paths:
        return ""
    what, how = (
        ("undid what you changed in an earlier turn", "as they were before it")
        if event.undone
        else ("restored what you changed in an earlier turn", "as that turn left them")
    )
    text = f"The person {what}. These are {how}: {_listed(event.paths)}."
    if event.left:
        text += f" These had changed since and are left as they are: {_listed(event.left)}."
    return text


def _listed(paths: Sequence[str]) -> str:
    named = ", ".join(paths[:NAMED])
    return named if len(paths) <= NAMED else f"{named} and {len(paths) - NAMED} more"
