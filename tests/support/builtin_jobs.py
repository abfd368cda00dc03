"""Ten small jobs for the built-in model, and what an answer must and must not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILES = {
    "README.md": "# Mill\n\nThe mill grinds corn on Fridays.\n",
    "notes.txt": "Oil the wheel.\nPay the baker 40 crowns.\n",
    "plan.md": "We build the new barn in May.\n",
    "empty.txt": "",
}


@dataclass(frozen=True, slots=True)
class Job:
    """``says``: words of a right answer. ``certain``: how the only right answer begins."""

    ask: str
    says: tuple[str, ...] = ()
    certain: str = ""
    files: Mapping[str, str] | None = None

    def lay_out(self, folder: Path) -> None:
        for name, text in (FILES if self.files is None else self.files).items():
            (folder / name).write_text(text)

    def solved(self, answer: str) -> bool:
        if self.certain:
            return answer.startswith(self.certain)
        return all(word.lower() in answer.lower() for word in self.says)


CHANGES_NOTHING = (
    "I am a small model that can list, read and search files. I cannot write or change files or "
    "run commands, and I have changed nothing."
)
JOBS = (
    Job("What files are in this folder?", ("README.md", "notes.txt", "plan.md", "empty.txt")),
    Job("What does plan.md say?", ("barn", "May")),
    Job("Read README.md and tell me when the mill grinds.", ("Fridays",)),
    Job("How many crowns does the baker get, according to notes.txt?", ("40",)),
    Job("Which file mentions corn?", ("README.md",)),
    Job("What does empty.txt say?", certain="empty.txt is empty."),
    Job("What does ghost.txt say?", certain="There is no file ghost.txt."),
    Job("Find the word dragon", certain="No line matches dragon."),
    Job("What files are in this folder?", certain="The folder is empty.", files={}),
    Job("Tell me about the cats", certain="The folder is empty.", files={}),
    Job("What do you know about our story?", certain="The folder is empty.", files={}),
    Job("Write a note in wheel.txt that the wheel is broken.", certain=CHANGES_NOTHING),
)
