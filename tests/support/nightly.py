"""The seed of the nightly tests: a new one each night, named so that a failure can be repeated."""

from __future__ import annotations

import os
import secrets

PROFILE = "nightly"
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "10000"))
"""Of each property; a few hundred make a portion of a night."""


def seed_of(given: str | None, profile: str) -> str | None:
    """The seed that was asked for, or a new one for the night; None: the same examples always."""
    if given is None and profile == PROFILE:
        return str(secrets.randbelow(2**32))
    return given


def words_about(seed: str) -> str:
    return f"Seed {seed}. To repeat these examples: make nightly ARGS=--hypothesis-seed={seed}"
