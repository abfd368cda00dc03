"""New skill: writes the folder of a skill with a sample, which the person then changes."""

from __future__ import annotations

import re
from pathlib import Path

from studio.domain.errors import ConfigurationError
from studio.tools.sdk.tool_template import write_new

from .finder import MOST_NAME, SKILL_FILE

SAMPLE = """---
name: {name}
description: What it does, and when an agent should open it. Name the words of such a task.
# argument-hint: what to type after /{name}
# disable-model-invocation: true   # by hand alone
---
# {title}

What to do, step by step. Further files in this folder are read when you name them, such as
`checklist.md`; programs in it are run like any command.
"""


def write_skill(folder: Path, name: str) -> Path:
    """Write a new skill into a folder of skills; blocks. Raises ConfigurationError."""
    if not re.fullmatch(rf"[a-z0-9-]{{1,{MOST_NAME}}}", name):
        raise ConfigurationError(
            f"A skill’s name has at most {MOST_NAME} of a-z, 0-9 and -, such as release-notes."
        )
    path = folder / name / SKILL_FILE
    title = name.replace("-", " ").capitalize()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, SAMPLE.format(name=name, title=title))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}.") from error
    return path
