"""Prints the requirements of the program, its extras and its tests without their upper bounds.

What a new major version of a library breaks is found by installing it: ``release.sh majors``. The
bounds of other libraries stay, so that what is installed fits together. Those of single Pythons
stay too, as a version that is known to crash there tells nothing new.

    majors.py              the requirements, a line each
    majors.py above        of those installed, the ones that pyproject.toml does not allow yet
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REQUIREMENT = re.compile(r"([\w.-]+(?:\[[^]]*\])?)\s*([^;]*?)\s*(;.*)?")
BOUND = re.compile(r"\s*<=?\s*([\d.]+)\s*")


def requirements(root: Path = ROOT) -> list[str]:
    """Those of ``pyproject.toml``, as they are there."""
    whole: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    project = whole["project"]
    named: list[str] = whole["tool"]["agent-studio"]["test-extras"]
    extras = [one for name in named for one in project["optional-dependencies"][name]]
    return [*project["dependencies"], *extras, *whole["dependency-groups"]["dev"]]


def divided(requirement: str) -> tuple[str, list[str], str]:
    """Its name with extras, what it says of versions, and when it holds."""
    found = REQUIREMENT.fullmatch(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} is no requirement that this reads.")
    return found[1], [one for one in found[2].split(",") if one], found[3] or ""


def lifted(requirement: str) -> str:
    """A requirement without its upper bounds, unless it is of certain Pythons."""
    name, versions, marker = divided(requirement)
    if "python_version" in marker:
        return requirement
    kept = [one for one in versions if not BOUND.fullmatch(one)]
    return name + ",".join(kept) + marker


def upper_bound(requirement: str) -> tuple[str, str]:
    """The name of a requirement whose bound is lifted, and the bound; both empty for others."""
    name, versions, _ = divided(requirement)
    if lifted(requirement) == requirement:
        return "", ""
    return name.partition("[")[0], next(
        bound[1] for one in versions if (bound := BOUND.fullmatch(one))
    )


def above(requirement: str) -> str:
    """What is installed of it, where that is above its bound; empty otherwise."""
    name, bound = upper_bound(requirement)
    try:
        version = importlib.metadata.version(name) if name else ""
    except importlib.metadata.PackageNotFoundError:  # of another system
        return ""
    if not version or numbers(version) < numbers(bound):
        return ""
    return f"{name} {version} is newer than pyproject.toml allows: {requirement}"


def numbers(version: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", version.partition("+")[0])]


if __name__ == "__main__":
    step = above if sys.argv[1:] == ["above"] else lifted
    for line in dict.fromkeys(filter(None, map(step, requirements()))):
        print(line)
