"""Files that a rule refuses to be read, as places on the disk: a command may not read them either.

Where the sandbox can hide them. A rule for all of ``read`` hides nothing, nor does a
pattern for many places outside of the folder: then a command could do nothing at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from studio.domain.errors import ToolFailed
from studio.domain.permissions import Rule
from studio.tools import Workspace

from .place import FOLDED

MOST = 1_000
"""Places that are hidden, each of them a mount."""
LOOKED_AT = 200_000
"""Files and folders that are compared with the rules' patterns."""

_PLAIN = re.compile(r"[^*?\[]*")


def unreadable(rules: Iterable[Rule], workspace: Workspace) -> list[Path]:
    """The real places in and outside of the folder that ``rules`` name. Blocks.

    Raises ToolFailed where there are too many: a command must not run then.
    """
    root = workspace.root
    found: dict[Path, None] = {}
    left = LOOKED_AT
    for rule in dict.fromkeys(rules):
        plain = _PLAIN.match(rule.pattern)
        assert plain is not None
        if plain[0] == rule.pattern:
            places: Iterable[Path] = [root / rule.pattern]
        else:  # nothing above the last whole folder of its beginning can fit
            beginning = root / plain[0].rpartition("/")[0]
            if root.is_relative_to(beginning):
                beginning = root
            places = _below(beginning, rule, root) if beginning.is_relative_to(root) else ()
        for place in places:
            left -= 1
            if not left or len(found) > MOST:
                raise ToolFailed(
                    f"The rule {rule} refuses to read more files than can be hidden from a "
                    "command. The person can name their folder instead."
                )
            if _fits(rule, place, root) and os.path.lexists(place):
                real = Path(os.path.realpath(place))
                # A link out of the folder: what is there is hidden already, or no secret.
                if real.exists() and (real.is_relative_to(root) or not place.is_symlink()):
                    found[real] = None
    return list(found)


def _below(folder: Path, rule: Rule, root: Path) -> Iterator[Path]:
    """All that is in a folder; what fits is not looked into."""
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    path = Path(entry.path)
                    yield path
                    if entry.is_dir(follow_symlinks=False) and not _fits(rule, path, root):
                        waiting.append(path)
        except OSError:
            continue


def _fits(rule: Rule, place: Path, root: Path) -> bool:
    names = [place.as_posix()]
    if place.is_relative_to(root):
        names.append(place.relative_to(root).as_posix())
    return rule.pattern in names or any(rule.fits(name, fold=FOLDED) for name in names)
