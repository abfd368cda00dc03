"""New skill: writes the folder of a skill with a sample, which the person then changes."""

from __future__ import annotations

import re
from pathlib import Path

from studio.domain.errors import ConfigurationError
from studio.tools.sdk.tool_template import write_new

from .finder import MOST_NAME, SAMPLE_DESCRIPTION, SKILL_FILE

SAMPLE = """---
name: {name}
description: {description}
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
    text = SAMPLE.format(
        name=name,
        description=SAMPLE_DESCRIPTION,
        title=name.replace("-", " ").capitalize(),
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, text)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}.") from error
    return path
