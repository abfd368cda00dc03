"""Templates: messages with places, kept as files, for ``run --template``.

A template is a markdown file in the folder ``templates`` beside the settings. Its text is the
message; above it may stand, between lines of three dashes, who answers and how.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from studio.domain.errors import ConfigurationError
from studio.domain.models import EFFORTS

from .parser import option

INPUT = "input"
"""The place of the message that is given with the template."""
LARGEST = 1_000_000
"""Bytes of a template at most."""
SAMPLE = """---
description: What it is for
# agent: Writer
# model: claude-sonnet-5
# system: Instructions in addition to the agent's
# effort: low
# options:
#   temperature: 0
# defaults:
#   language: English
---
Summarise this in three sentences, in $language:

$input
"""
_NAME = re.compile(r"\w[\w.-]*")
_PLACE = re.compile(r"\$(?:(?P<dollar>\$)|(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")
_HEAD = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<yaml>.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_TEXTS = ("description", "agent", "provider", "model", "system", "effort")


@dataclass(frozen=True, slots=True)
class Template:
    """A template. ``options`` are fields of ``Generation``, ``defaults`` values for places."""

    name: str
    text: str
    description: str = ""
    agent: str = ""
    provider: str = ""
    model: str = ""
    system: str = ""
    effort: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def places(self) -> list[str]:
        """The names of its places, in order."""
        found = (match["plain"] or match["braced"] for match in _PLACE.finditer(self.text))
        return list(dict.fromkeys(name for name in found if name))

    @property
    def wants_input(self) -> bool:
        return INPUT in self.places and INPUT not in self.defaults

    def fill(self, message: str, given: Sequence[tuple[str, str]]) -> str:
        """The message that is sent; raises ConfigurationError where a place stays empty.

        A message that has no place comes below the text.
        """
        values = {**self.defaults, **dict(given)}
        if message or INPUT not in values:
            values[INPUT] = message
        places = self.places
        if unknown := [name for name, _ in given if name not in places]:
            raise ConfigurationError(f"The template {self.name} has no place ${unknown[0]}.")
        missing = [name for name in places if name != INPUT and name not in values]
        if missing:
            raise ConfigurationError(
                f"The template {self.name} needs -p {' -p '.join(f'{one}=…' for one in missing)}"
            )

        def value(match: re.Match[str]) -> str:
            return "$" if match["dollar"] else values[match["plain"] or match["braced"]]

        text = _PLACE.sub(value, self.text).strip()
        return text if INPUT in places or not message else f"{text}\n\n{message}"

    def apply(self, options: argparse.Namespace) -> None:
        """Fill in what the command line does not say.

        A model that it names is not asked of the template's provider, and a provider that it
        names has no model of another one.
        """
        named, provider = bool(options.model), options.provider or ""
        if not named and (not provider or self.provider in ("", provider)):
            options.model = self.model or None
        if not named and not provider:
            options.provider = self.provider or None
        for name in ("agent", "effort"):
            if not getattr(options, name):
                setattr(options, name, getattr(self, name) or None)
        if options.system is None:
            options.system = self.system or None
        options.option = [*self.options, *options.option]


def template_names(folder: Path) -> list[str]:
    """The names of the templates in a folder. Blocks."""
    return sorted(path.stem for path in folder.glob("*.md") if path.is_file())


def template_path(folder: Path, name: str) -> Path:
    """Where a template is; raises ConfigurationError for what is no name."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"“{name}” is no name of a template: letters, digits, dashes.")
    return folder / f"{name}.md"


def read_template(folder: Path, name: str) -> Template:
    """Read a template; raises ConfigurationError with what is wrong. Blocks."""
    path = template_path(folder, name)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        known = ", ".join(template_names(folder)) or "none"
        raise ConfigurationError(f"There is no template {name}. There are: {known}.") from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f"{path} cannot be read: {why}.") from error
    if len(data) > LARGEST:
        raise ConfigurationError(f"{path} has more than {LARGEST // 1_000_000} MB.")
    try:
        return _parsed(name, text)
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise ConfigurationError(f"{path}: {str(error).rstrip('.')}.") from error


def _parsed(name: str, text: str) -> Template:
    from studio.agent.yaml_text import load_yaml

    head = _HEAD.match(text)
    found = load_yaml(head["yaml"], 2) if head else None
    if found is not None and not isinstance(found, dict):
        raise ValueError("what is between the dashes is a list of “key: value” lines")
    values = cast("dict[str, Any]", found or {})
    if unknown := values.keys() - {*_TEXTS, "options", "defaults"}:
        raise ValueError(f"there is no key {min(map(str, unknown))}")
    for key in _TEXTS:
        if not isinstance(values.get(key, ""), str):
            raise ValueError(f"{key} is a text")
    if values.get("effort") not in (None, *EFFORTS):
        raise ValueError(f"effort is one of {', '.join(EFFORTS)}")
    options = _pairs(values, "options")
    return Template(
        name=name,
        text=text[head.end() :] if head else text,
        options=tuple(option(f"{key}={value}") for key, value in options.items()),
        defaults=_pairs(values, "defaults"),
        **{key: values[key] for key in _TEXTS if key in values},
    )


def _pairs(values: Mapping[str, Any], key: str) -> dict[str, str]:
    found = values.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"{key} are “name: value” lines")
    pairs = cast("dict[object, object]", found)
    if not all(isinstance(value, str | int | float) for value in pairs.values()):
        raise ValueError(f"{key} have texts and numbers as values")
    return {str(name): str(value) for name, value in pairs.items()}
