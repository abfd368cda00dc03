"""Tool template: creates a first tool file, for people who write their own (T-1)."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection
from pathlib import Path

from studio.domain.errors import ConfigurationError

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_TEXT = '''\
"""A tool of your own. Saved, it counts from the next message on."""

from studio.tools import Context, Result, ToolFailed, tool


# effect: "read" only reads in the folder and runs unasked; "fetch" reads from outside it;
#   "draft" proposes file changes; "act" does anything else. "fetch" and "act" are asked about.
# target: the argument that is shown beside the tool and that permission rules look at.
# verb, done: the words for it while it runs and afterwards. icon: a name from lucide.dev.
@tool(effect="read", target="path", verb="Counting", done="Counted", icon="list-ordered")
def @NAME@(context: Context, path: str, longest: int = 1000) -> Result:
    """Count the lines and words of a text file.

    path: The file, relative to the folder.
    longest: Lines above this many are not counted.
    """
    # The docstring is all a model knows: what the tool does, then a line for each argument.
    # The hints above become the schema. ``context`` is given by the program and not in it.
    # A plain function runs in a thread; with ``async def`` it must never block.
    file = context.workspace.file(path)  # refuses what is outside the folder
    try:
        lines = file.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ToolFailed(f"{path} is no text file.") from error
    if len(lines) > longest:
        raise ToolFailed(f"{path} has more than {longest} lines. Ask for more with “longest”.")
    words = sum(len(line.split()) for line in lines)
    return Result(
        {"lines": len(lines), "words": words},  # text, a list or an object; kept short
        summary=f"{len(lines)} lines",  # for the person
        sources=(path,),  # where it is from
    )
'''


def starter(name: str) -> str:
    """The text of a file with one working tool and comments."""
    return _TEXT.replace("@NAME@", name)


def create_tool_file(folder: Path, name: str, taken: Collection[str]) -> Path:
    """Write a starter file ``name``.py into an existing folder; returns its path.

    Never overwrites. Raises ConfigurationError if the name is not valid, is ``taken`` by
    another tool, or the file exists or cannot be written. Blocks.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigurationError(
            f"“{name}” is no name for a tool. Use small letters, digits and _, a letter first."
        )
    if name in taken:
        raise ConfigurationError(f"There is a tool {name} already. Choose another name.")
    path = folder / f"{name}.py"
    write_new(path, starter(name))
    return path


def write_new(path: Path, text: str) -> None:
    """Create a file, whole or not at all; blocks.

    Raises ConfigurationError if it exists or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:  # leave no half of a file
                path.unlink(missing_ok=True)
                raise
    except FileExistsError as error:
        raise ConfigurationError(f"{path} is there already. Nothing was written.") from error
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror or error})."
        ) from error
