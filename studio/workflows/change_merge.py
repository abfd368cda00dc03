"""Change merge: what files become by the changes of several steps, and where these clash.

The changes and the answers alone decide what a file becomes, so it is found again whenever it is
asked for (W-25).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from studio.domain.errors import StorageError
from studio.domain.jsonvalue import JsonObject
from studio.domain.run_events import MERGE, ChangedFile, RunQuestion, StepChanged
from studio.domain.runs import Run
from studio.domain.workflows import Step
from studio.storage.snapshots.blob_store import BlobStore, digest_of
from studio.tools.drafts.three_way_merge import Merge, three_way
from studio.tools.workspace.encodings import NotText, decode, encode

from .expressions import as_words
from .plan import Plan

_MERGED: JsonObject = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}
_TASK = """\
{theirs} and {ours} changed the file {path} differently. Merge them: keep what each of them \
wanted, and lose nothing. Answer with the whole text of the file.

The file before:

{base}

As {theirs} has it:

{one}

As {ours} has it:

{other}"""


@dataclass(frozen=True, slots=True)
class Clash:
    """A file that steps changed differently. Sides are digests, or empty for a deleted file.

    ``names`` are those of the sides, ``texts`` the base and the sides; None where one is no text.
    """

    path: str
    sides: tuple[str, str]
    names: tuple[str, str]
    id: str
    merge: Merge | None = None
    texts: tuple[str, str, str] | None = None
    encoding: str = "utf-8"

    @property
    def choices(self) -> tuple[str, ...]:
        of = [
            f"As {name} has it" if side else f"Delete it, as {name}"
            for name, side in zip(self.names, self.sides, strict=True)
        ]
        return (*of, "Both, between marks") if self.merge is not None else tuple(of)

    @property
    def marked(self) -> str:
        """The whole text, with both sides of what differs between marks."""
        assert self.merge is not None
        marks = f"<<<<<<< {self.names[0]}", f">>>>>>> {self.names[1]}"
        return "".join(line for hunk in self.merge.hunks for line in hunk.marked(*marks))

    @property
    def question(self) -> RunQuestion:
        marks = f"<<<<<<< {self.names[0]}", f">>>>>>> {self.names[1]}"
        hunks = [one for one in self.merge.hunks if one.side == "conflict"] if self.merge else []
        shown = [f"Line {one.at[0]}:\n{''.join(one.marked(*marks))}" for one in hunks]
        text = f"{self.names[0]} and {self.names[1]} changed {self.path} differently."
        return RunQuestion(self.id, "conflict", text, "\n".join(shown), self.choices)

    @property
    def task(self) -> str:
        """What an agent is told that merges it."""
        assert self.texts is not None
        (theirs, ours), (base, one, other) = self.names, self.texts
        return _TASK.format(
            path=self.path, theirs=theirs, ours=ours, base=base, one=one, other=other
        )

    def step(self, agent: str) -> Step:
        """The step of the run in which an agent merges it."""
        return Step(MERGE, "agent", agent, title=f"Merge {self.path}", outputs=_MERGED)


class DeskContents:
    """The contents of files on desks, by digest; ``folders`` has those of the folders before."""

    def __init__(self, blobs: BlobStore, folders: BlobStore) -> None:
        self.blobs, self._folders = blobs, folders

    def put(self, data: bytes) -> str:
        digest = digest_of(data)
        self.blobs.put({digest: data})
        return digest

    def keep(self, digest: str) -> None:
        """Keep what a file had before, which other contents are about to be deleted with."""
        if digest and self.blobs.get(digest) is None:
            data = self._folders.get(digest)
            if data is not None:
                self.blobs.put({digest: data})

    def bytes(self, digest: str) -> bytes:
        """Raises StorageError if the content is not there any more."""
        data = self.blobs.get(digest)
        if data is None:
            raise StorageError("What a step of this run changed is not stored any more.")
        return data

    def text(self, digest: str, path: str) -> tuple[str, str]:
        """The text and the encoding of a content; of none an empty one. Raises NotText."""
        return decode(self.bytes(digest), path) if digest else ("", "utf-8")


class ChangeMerge:
    """Merges what the steps of one run changed."""

    def __init__(self, plan: Plan, run: Run, contents: DeskContents) -> None:
        self._plan, self._run, self._contents = plan, run, contents

    def ordered(self, steps: Iterable[str]) -> list[StepChanged]:
        """What these steps changed, each after those that it needs."""
        every, places = self._plan.every, [one.id for one in self._plan.workflow.steps]
        order = sorted(steps, key=lambda id: (len(every[id]), places.index(id)))
        keys = [(id, key) for id in order for key in ("", *self._run.items.get(id, ()))]
        return [self._run.changes[key] for key in keys if key in self._run.changes]

    def fold(self, changes: Sequence[StepChanged]) -> tuple[dict[str, str], list[Clash]]:
        """Merge changes in this order; clashes without an answer have both sides in the result."""
        found: dict[str, str] = {}
        names: dict[str, list[str]] = {}
        clashes: list[Clash] = []
        for change in changes:
            for file in change.files:
                now, who = found.get(file.path), self._label(change)
                if now is None or now == file.before:
                    found[file.path] = file.after
                elif now != file.after:
                    sides = " and ".join(names[file.path]), who
                    merged = self._merge(file, now, sides)
                    if isinstance(merged, Clash):
                        clashes.append(merged)
                        merged = self._both(merged)
                    found[file.path] = merged
                names.setdefault(file.path, []).append(who)
        return found, clashes

    def _merge(self, file: ChangedFile, now: str, names: tuple[str, str]) -> str | Clash:
        """The digest of a file that two sides changed since ``before``."""
        sides = now, file.after
        words = "\n".join((file.path, file.before, *sides))
        clash = Clash(file.path, sides, names, hashlib.sha256(words.encode()).hexdigest()[:32])
        try:
            texts = (
                [self._contents.text(one, file.path) for one in (file.before, *sides)]
                if all(sides)
                else []
            )
        except NotText:
            texts = []
        if texts:
            (base, _), (theirs, _), (ours, encoding) = texts
            merge = three_way(base, theirs, ours)
            clash = replace(clash, merge=merge, texts=(base, theirs, ours), encoding=encoding)
            if not merge.conflicts:
                return self._contents.put(encode(merge.text, encoding))
        answer = self._answer(clash.id)
        if answer is None:
            return clash
        if answer in clash.choices[:2]:
            return sides[clash.choices.index(answer)]
        if answer.strip() and answer not in clash.choices:
            return self._contents.put(encode(answer, clash.encoding))
        return self._both(clash)

    def _both(self, clash: Clash) -> str:
        if clash.merge is None:
            return clash.sides[1] or clash.sides[0]
        return self._contents.put(encode(clash.marked, clash.encoding))

    def _answer(self, id: str) -> str | None:
        if id in self._run.answers:
            return as_words(self._run.answers[id])
        outputs = self._run.step(MERGE, id).outputs
        return as_words(outputs["text"]) if isinstance(outputs, dict) else None

    def _label(self, change: StepChanged) -> str:
        label = self._plan.workflow.step(change.step).label
        value = self._run.items.get(change.step, {}).get(change.item)
        return f"{label} ({as_words(value)[:40]})" if change.item else label
