"""What a session's model has not heard yet: words of the person, ends of drafts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from studio.domain.events import (
    DraftResolved,
    Event,
    HistoryBegun,
    StepStarted,
    Told,
    ToolFinished,
    TurnStarted,
)
from studio.domain.messages import Said, Text
from studio.domain.tools import DraftStatus

from .drafts import SessionDrafts


class Unheard:
    """Made from a session's stored events, kept by those that follow.

    ``said`` is what the person said in turns that ended before the history had
    it: a turn's first step and its words are stored together. ``notes`` is what
    the next request has to tell beside it. ``epoch`` is the native history's
    last one as the events tell, 0 before any.
    """

    def __init__(self, events: Iterable[Event], drafts: SessionDrafts) -> None:
        self.said: list[Said] = []
        self.notes: list[Told] = []
        self.epoch = 0
        self._drafts = drafts
        for event in events:
            match event:
                case StepStarted() | ToolFinished():
                    self.notes.clear()  # a request or a tool's result told it
                case DraftResolved():
                    self.draft_ended(event.draft_id, event.status)
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
                self._note(self._drafts.ends())
            case _:
                pass

    def words(self, said: Sequence[Said]) -> list[Said]:
        """What a turn sends: what was kept, then what is said now; blanks alone are nothing."""
        words = [*self.said, *said]
        blank = all(isinstance(part, Text) and not part.text.strip() for part in words)
        return [] if blank else words

    def draft_ended(self, draft_id: str, status: DraftStatus) -> None:
        self._note(self._drafts.note(draft_id, status))

    def draft_edited(self, path: str) -> None:
        self._note(f"The person edited the draft of {path} by hand.")

    def _note(self, text: str) -> None:
        if text:
            self.notes.append(Told("draft", text))
