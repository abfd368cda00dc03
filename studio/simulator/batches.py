"""Batches of the simulator: jobs that are worked on later, and the files that they need (W-57).

What each API says of a batch is in its own folder; here is what all have: jobs, their requests and
when they are worked on. Time passes with the questions of clients: a batch is over after it was
asked for ``polls`` times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .http import Frame, HttpRequest, HttpResponse
from .json_read import Body, compact, obj
from .request_checks import RequestRefused

Ending: TypeAlias = Literal["succeeded", "errored", "expired", "canceled"]


def nobody(id: str) -> bool:
    return False


@dataclass(slots=True)
class BatchPlan:
    """How batches go. ``expires`` says by the id of a request whether it is not worked on in time.

    ``lost`` is how many of the next creations are done and never answered.
    ``most_requests`` and ``most_bytes`` are the limits of one, 0 for those of the provider.
    """

    polls: int = 1
    expires: Callable[[str], bool] = nobody
    lost: int = 0
    most_requests: int = 0
    most_bytes: int = 0


@dataclass(slots=True)
class BatchRequest:
    """One request of a batch; ``answer`` and ``status`` once it was worked on."""

    id: str
    body: Body
    ending: Ending | None = None
    status: int = 0
    answer: Body = field(default_factory=dict[str, object])


@dataclass(slots=True)
class Batch:
    """One batch. ``about`` is what the client said of it."""

    id: str
    created: float
    path: str
    requests: list[BatchRequest]
    about: Body
    polls: int
    state: str = "open"
    """``open``, ``cancelling``, ``failed`` or ``over``."""
    wrong: str = ""

    @property
    def over(self) -> bool:
        return self.state in ("failed", "over")

    def count(self, ending: Ending) -> int:
        return sum(one.ending == ending for one in self.requests)


class BatchDesk:
    """The batches and files of one server. ``reply`` answers a request as if it came alone."""

    def __init__(self, plan: BatchPlan, reply: Callable[[HttpRequest], HttpResponse]) -> None:
        self.plan = plan
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, bytes] = {}
        self.uploads: dict[str, str] = {}
        self._reply = reply

    def add(
        self, start: str, path: str, requests: Sequence[BatchRequest], about: Body, wrong: str = ""
    ) -> Batch:
        """A new batch, whose requests go to ``path``."""
        number = len(self.batches) + 1
        made = (path, list(requests), about, self.plan.polls)
        batch = Batch(f"{start}{number:06d}", time.time(), *made)
        if wrong:
            batch.state, batch.wrong = "failed", wrong
        self.batches[batch.id] = batch
        return batch

    def answered(self, answer: HttpResponse) -> HttpResponse:
        """The answer to a creation, or silence in its place."""
        if self.plan.lost > 0:
            self.plan.lost -= 1
            answer.frames, answer.ending = [], "silence"
        return answer

    def poll(self, id: str) -> Batch:
        """A batch that a client asks for; raises RequestRefused (404)."""
        if (batch := self.batches.get(id)) is None:
            raise RequestRefused("model", f"No batch found with id '{id}'.", status=404)
        if not batch.over:
            batch.polls -= 1
            if batch.polls < 0 or batch.state == "cancelling":
                self._work(batch)
        return batch

    def cancel(self, id: str) -> Batch:
        if (batch := self.batches.get(id)) is None:
            raise RequestRefused("model", f"No batch found with id '{id}'.", status=404)
        if not batch.over:
            batch.state = "cancelling"
        return batch

    def file(self, data: bytes, start: str = "file-") -> str:
        """Keep a file; returns its id."""
        id = f"{start}{len(self.files) + 1:06d}"
        self.files[id] = data
        return id

    def _work(self, batch: Batch) -> None:
        for one in batch.requests:
            if batch.state == "cancelling":
                one.ending = "canceled"
            elif self.plan.expires(one.id):
                one.ending = "expired"
            else:
                headers = {
                    "authorization": "Bearer sim-batch",
                    "x-goog-api-key": "sim-batch",
                    "anthropic-version": "2026-10-21",
                }
                body = compact(one.body).encode()
                answer = self._reply(HttpRequest("POST", batch.path, {}, headers, body))
                one.status = answer.status
                one.answer = obj(json.loads(b"".join(frame.data for frame in answer.frames)))
                one.ending = "succeeded" if answer.status == 200 else "errored"
        batch.state = "over"


def json_lines(lines: Sequence[Body]) -> HttpResponse:
    """A file of JSON lines."""
    return HttpResponse(
        [Frame(compact(line).encode() + b"\n") for line in lines], "application/x-jsonl"
    )


def page(batches: Sequence[Batch], after: str, limit: int) -> tuple[list[Batch], bool]:
    """The next of these, the newest first, and whether there are more."""
    newest = list(reversed(batches))
    ids = [one.id for one in newest]
    start = ids.index(after) + 1 if after in ids else 0
    return newest[start : start + limit], start + limit < len(newest)
