"""Writes folders as a person reads them."""

from __future__ import annotations

from pathlib import Path


def short_path(folder: str) -> str:
    """``~/code/atlas`` for a folder below the person's home."""
    try:
        inside = Path(folder).relative_to(Path.home())
    except (ValueError, RuntimeError):
        return folder
    return "~" if inside == Path() else f"~/{inside.as_posix()}"
