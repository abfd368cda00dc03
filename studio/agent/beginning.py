"""An agent file to begin with, for people who write their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from studio.domain.agents import HUES
from studio.domain.errors import ConfigurationError
from studio.tools.starting import write_new

LONGEST = 60
_TEXT = """\
---
name: @NAME@
description: What it is for, in a line
# Which tools it has: a list of names, or "*" for all; agent-studio tools list
tools: [list, glob, read, search, ask]
# What it may use at most: all, edits, notes or reads
role: reads
# Rules on top of yours: TOOL or TOOL(PATTERN); a refusal always wins
# permissions:
#   allow: ["run(git diff *)"]
#   deny: ["run(git push*)"]
# background takes its time, inline answers soon
mode: background
# Where you did not choose another:
# provider: anthropic
# model: claude-opus-5-5
# How hard it thinks: none, minimal, low, medium, high, xhigh or max
# effort: medium
# Ends of one turn:
# steps: 20
# seconds: 180
# tokens: 100000
# dollars: 1.00
# Personal data that the model does not get from outside:
# mask: [email, phone]
# A name from lucide.dev, and one of @HUES@
icon: sparkle
hue: slate
---
You are an agent with one task. Say here what it is, how you go about it, and
what a good result looks like.

Read before you judge. Say what you do not know.
"""


def starter(name: str) -> str:
    """The text of a file with one working agent, commented."""
    quoted = json.dumps(name, ensure_ascii=False)
    return _TEXT.replace("@NAME@", quoted).replace("@HUES@", ", ".join(HUES))


def create_agent_file(folder: Path, name: str, taken: Iterable[str]) -> Path:
    """Write a starter file into a folder that is there; returns its path.

    Never overwrites. Raises ConfigurationError if the name is none for an agent,
    is ``taken``, or the file is there or cannot be written. Blocks.
    """
    words = " ".join(name.split())
    stem = re.sub(r"[^\w-]+", "-", words.lower()).strip("-")
    if words != name or not stem or len(name) > LONGEST or not name.isprintable():
        raise ConfigurationError(
            f"“{words[:LONGEST]}” is no name for an agent. Use words of letters and digits, "
            f"{LONGEST} characters at most."
        )
    if name.casefold() in (one.casefold() for one in taken):
        raise ConfigurationError(f"There is an agent {name} already. Choose another name.")
    path = folder / f"{stem}.md"
    write_new(path, starter(name))
    return path
