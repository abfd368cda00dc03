"""The one definition of the program, from which every package is made.

It is in ``pyproject.toml``: ``[project]``, and ``[tool.agent-studio]`` for what Python packages do
not know. The version is the one that ``studio`` says. Templates name its values as ``${name}``.

For scripts:

    python packaging/definition.py command   # what is typed to start the program
    python packaging/definition.py extras    # those of a system's packages, by commas
    python packaging/definition.py test-extras    # those that the tests need, by commas
    python packaging/definition.py model     # what pip installs for the built-in model
"""

from __future__ import annotations

import platform
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
    title_de: str

    def values(self) -> dict[str, str]:
        """What templates may name that are about one type."""
        return {
            "ending": self.ending,
            "extension": self.ending.removeprefix("."),
            "mime": self.mime,
            "file_title": self.title,
            "file_title_de": self.title_de,
        }


@dataclass(frozen=True)
class Licence:
    """Something that ships and is no Python package. ``file`` has the text of the licence.

    ``place`` is its folder in the program's own; without one it is where the text is. With
    ``packages`` it is the text of these Python packages, whose wheels have none. ``owner`` has the
    copyright, where the text does not say who.
    """

    name: str
    licence: str
    file: str
    place: str = ""
    packages: tuple[str, ...] = ()
    owner: str = ""

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

    ``extras`` are those of its Python package that every package for a system has, ``test_extras``
    those that the tests need beside the group ``dev``. ``model`` is the
    Python package with the built-in model's weights, whose own dependencies do not ship.
    """

    title: str
    command: str
    extras: tuple[str, ...]
    test_extras: tuple[str, ...]
    model: str
    id: str
    version: str
    description: str
    description_de: str
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

    @property
    def model_package(self) -> str:
        """The name in ``model``, without its version."""
        return re.split(r"[^\w.-]", self.model, maxsplit=1)[0]

    def values(self) -> dict[str, str]:
        """What templates may name."""
        return {
            "title": self.title,
            "command": self.command,
            "id": self.id,
            "version": self.version,
            "description": self.description,
            "description_de": self.description_de,
            "licence": self.licence,
            "publisher": self.publisher,
            "contact": self.contact,
            "scheme": self.link_scheme,
            "mime_types": ";".join(self.mime_types) + ";",
            "categories": ";".join(self.categories) + ";",
            "keywords": ";".join(self.keywords) + ";",
        }


def definition(root: Path = ROOT) -> Definition:
    """Read it; raises KeyError where something is missing."""
    whole = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    project: dict[str, Any] = whole["project"]
    more: dict[str, Any] = whole["tool"]["agent-studio"]
    (command,) = project["scripts"]
    return Definition(
        title=more["title"],
        command=command,
        extras=tuple(more["extras"]),
        test_extras=tuple(more["test-extras"]),
        model=more["model"],
        id=more["id"],
        version=constant_of(root / whole["tool"]["hatch"]["version"]["path"], "__version__"),
        description=project["description"],
        description_de=more["description-de"],
        about=tuple(more["about"]),
        licence=project["license"],
        publisher=more["publisher"],
        contact=more["contact"],
        icon=root / more["icon"],
        link_scheme=more["link-scheme"],
        folders=more["folders"],
        file_types=tuple(
            FileType(one["ending"], one["mime"], one["title"], one["title-de"])
            for one in more["file-types"]
        ),
        categories=tuple(more["categories"]),
        keywords=tuple(more["keywords"]),
        licences=tuple(
            Licence(**one | {"packages": tuple(one.get("packages", ()))})
            for one in more["licences"]
        ),
        updates=Updates(
            address=more["updates"]["address"],
            page=more["updates"]["page"],
            keys=tuple(more["updates"]["keys"]),
        ),
    )


def constant_of(module: Path, name: str) -> str:
    """What a module names a text, or a pattern, which is at one place there."""
    line = rf'^{name} = (?:"(.+)"|re\.compile\(r"(.+)"\))$'
    found = re.search(line, module.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise KeyError(name)
    return found[1] or found[2]


def filled(template: Path, values: Mapping[str, str]) -> str:
    """A template with its values; raises KeyError for a name that has none."""
    return Template(template.read_text("utf-8")).substitute(values)


def target() -> str:
    """The system and the machine that this is, as names of packages have them."""
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    return f"{system}-{platform.machine().lower()}"


def main(wanted: str) -> None:
    about = definition()
    told = {
        "command": about.command,
        "extras": ",".join(about.extras),
        "test-extras": ",".join(about.test_extras),
        "model": about.model,
    }
    if wanted not in told:
        raise SystemExit(__doc__)
    print(told[wanted])


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
