"""The one definition of the program, from which every package is made.

It is in ``pyproject.toml``: ``[project]``, and ``[tool.agent-studio]`` for what Python packages do
not know. The version is the one that ``studio`` says. Templates name its values as ``${name}``.

    python packaging/definition.py extras    # for scripts: those of a system's packages, by commas
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class FileType:
    """Files that the program opens, by the ending of their names."""

    ending: str
    mime: str
    title: str


@dataclass(frozen=True)
class Licence:
    """Something that ships and is no Python package. ``file`` has the text of the licence.

    ``place`` is its folder in the program's own; without one it is where the text is.
    """

    name: str
    licence: str
    file: str
    place: str = ""

    @property
    def folder(self) -> str:
        return self.place or f"studio/{self.file.rpartition('/')[0]}"


@dataclass(frozen=True)
class Updates:
    """Where programs ask for the newest version, whom they believe, where a person gets it."""

    address: str
    page: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Definition:
    """What the program is called and what it is; ``command`` is what is typed to start it.

    ``extras`` are those of its Python package that every package for a system has.
    """

    title: str
    command: str
    extras: tuple[str, ...]
    id: str
    version: str
    description: str
    about: tuple[str, ...]
    licence: str
    publisher: str
    contact: str
    icon: Path
    link_scheme: str
    folders: bool
    file_types: tuple[FileType, ...]
    categories: tuple[str, ...]
    keywords: tuple[str, ...]
    licences: tuple[Licence, ...]
    updates: Updates

    @property
    def mime_types(self) -> tuple[str, ...]:
        """All that a desktop may open with it: files, folders, links."""
        folders = ("inode/directory",) if self.folders else ()
        files = (one.mime for one in self.file_types)
        return (*files, *folders, f"x-scheme-handler/{self.link_scheme}")

    def values(self) -> dict[str, str]:
        """What templates may name."""
        file = self.file_types[0]
        return {
            "title": self.title,
            "command": self.command,
            "id": self.id,
            "version": self.version,
            "description": self.description,
            "licence": self.licence,
            "publisher": self.publisher,
            "contact": self.contact,
            "scheme": self.link_scheme,
            "ending": file.ending,
            "extension": file.ending.removeprefix("."),
            "mime": file.mime,
            "file_title": file.title,
            "mime_types": ";".join(self.mime_types) + ";",
            "categories": ";".join(self.categories) + ";",
            "keywords": ";".join(self.keywords) + ";",
        }


def definition(root: Path = ROOT) -> Definition:
    """Read it; raises KeyError where something is missing."""
    whole = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    project: dict[str, Any] = whole["project"]
    more: dict[str, Any] = whole["tool"]["agent-studio"]
    source = (root / whole["tool"]["hatch"]["version"]["path"]).read_text("utf-8")
    version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    if version is None:
        raise KeyError("__version__")
    (command,) = project["scripts"]
    return Definition(
        title=more["title"],
        command=command,
        extras=tuple(more["extras"]),
        id=more["id"],
        version=version[1],
        description=project["description"],
        about=tuple(more["about"]),
        licence=project["license"],
        publisher=more["publisher"],
        contact=more["contact"],
        icon=root / more["icon"],
        link_scheme=more["link-scheme"],
        folders=more["folders"],
        file_types=tuple(FileType(**one) for one in more["file-types"]),
        categories=tuple(more["categories"]),
        keywords=tuple(more["keywords"]),
        licences=tuple(Licence(**one) for one in more["licences"]),
        updates=Updates(
            address=more["updates"]["address"],
            page=more["updates"]["page"],
            keys=tuple(more["updates"]["keys"]),
        ),
    )


def filled(template: Path, values: Mapping[str, str]) -> str:
    """A template with its values; raises KeyError for a name that has none."""
    return Template(template.read_text("utf-8")).substitute(values)


if __name__ == "__main__" and sys.argv[1:] == ["extras"]:
    print(",".join(definition().extras))
