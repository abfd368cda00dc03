"""Calls of the built-in tools, as a scripted model makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from studio.simulator import Call, RequestView, Text, Turn


def read(path: str) -> Call:
    return Call("read", {"path": path})


def run(command: str) -> Call:
    return Call("run", {"command": command})


def write(path: str, text: str) -> Call:
    return Call("write", {"path": path, "content": text})


def reading(steps: int, folder: Path) -> Callable[[RequestView], Turn]:
    """A model that reads another file in each step, and answers in the last."""
    folder.mkdir(exist_ok=True)
    for number in range(1, steps):
        (folder / f"{number}.txt").write_text(f"number {number}\n")
    left = steps

    def play(_: RequestView) -> Turn:
        nonlocal left
        left -= 1
        return Turn(read(f"{left}.txt")) if left else Turn(Text("All done."))

    return play
