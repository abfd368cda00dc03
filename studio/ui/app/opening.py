"""Opening: tells by a word of the command line, or of macOS, what the program was started for."""

from __future__ import annotations

from pathlib import Path

from .links import LONGEST, is_link
from .second_start import QUICK_ASK, Start


def start_for(word: str) -> Start:
    """For a link, ``--quick-ask``, or the path of a folder or of an agent's file; may block."""
    if word == QUICK_ASK:
        return Start(quick_ask=True)
    if is_link(word):
        return Start(link=word[: LONGEST + 1])  # enough to see that it is too long
    return Start(folder=str(folder_for(Path(word).resolve())) if word else "")


def folder_for(path: Path) -> Path:
    """The folder that a window is opened for: for the file of an agent the one that has it."""
    if path.is_dir():
        return path
    from studio.agent.folder_files import AGENT_PLACES

    folder = path.parent
    places = [place.parts for place, _ in AGENT_PLACES]
    return folder.parents[1] if folder.parts[-2:] in places else folder
