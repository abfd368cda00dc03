"""A story with a job for every door: an agent edits a file, and tests it in the background."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from studio.simulator import Call, RequestView, Returned, Text, Turn

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
CHECK = "from calc import add\nassert add(2, 3) == 5, 'wrong'\nprint('passed')\n"
COMMAND = f"{sys.executable} -B test_calc.py; while [ -e hold ]; do sleep 0.02; done"
END = "The tests pass now."


def lay_out(folder: Path, *, hold: bool = False) -> Path:
    """Write the files of the story; returns the one that is edited.

    ``hold``: the command goes on until the file of this name is gone.
    """
    (folder / "calc.py").write_text(WRONG)
    (folder / "test_calc.py").write_text(CHECK)
    if hold:
        (folder / "hold").touch()
    return folder / "calc.py"


def results_in(view: RequestView) -> list[Returned]:
    """All results that a request tells of, oldest first."""
    return [one for one in view.items if isinstance(one, Returned)]


class EditThenTest:
    """The model of the story; ``seen`` is all that its job printed and that it was told of it."""

    def __init__(self) -> None:
        self.seen = ""
        self.looks = 0

    def __call__(self, view: RequestView) -> Turn:
        results = results_in(view)
        if not results:
            return Turn(Call("edit", {"path": "calc.py", "old": "a - b", "new": "a + b"}))
        last = results[-1]
        if last.name == "edit":
            return Turn(Call("run", {"command": COMMAND, "background": True}))
        self.seen = "".join(one.text for one in results[1:])
        begun = re.search(r"goes on as job (\w+)", self.seen)
        if begun is None or "is over" in last.text or last.is_error:
            return Turn(Text(END))
        self.looks += 1
        return Turn(Call("job", {"id": begun[1], "wait": 0.2}))

    def judge(self, *, drafts: bool, sandboxed: bool = True) -> None:
        """The tests saw the edit; without a sandbox a draft is not seen, and that is said."""
        if drafts and not sandboxed:
            assert "did not see drafts that wait: calc.py" in self.seen or (
                "does not see drafts that wait: calc.py" in self.seen
            ), self.seen
            assert "AssertionError: wrong" in self.seen, self.seen
        else:
            assert "passed" in self.seen and "Error" not in self.seen, self.seen
            assert ("with the drafts of this turn" in self.seen) == drafts, self.seen
