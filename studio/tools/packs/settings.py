"""Settings of a pack: a dataclass that the studio draws, kept in a file of JSON (KZ-9).

Every field has a default. A line ``name: text`` of the docstring says what a field means. Secrets
do not belong there: the file is plain text.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject, as_object
from studio.domain.tools import ToolSpec
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import exclusive_access
from studio.files.folders import private_folder
from studio.tools.sdk.argument_check import check
from studio.tools.sdk.definition import build, read_docstring, schema_of

T = TypeVar("T")


def settings_schema(kind: type[Any]) -> JsonObject:
    """The schema of a pack's settings, with defaults; raises TypeError for what is none.

    A field is shown under the ``title`` of its metadata, its own name unless it has one.
    """
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"{kind.__name__}: the settings of a pack are a dataclass.")
    try:
        usual = kind()
    except TypeError as error:
        raise TypeError(f"{kind.__name__}: each setting needs a default.") from error
    hints = get_type_hints(kind)
    _, about = read_docstring(kind, kind.__name__, set(hints))
    properties: JsonObject = {}
    titles = {one.name: one.metadata.get("title") for one in dataclasses.fields(kind)}
    for name, hint in hints.items():
        one = properties[name] = {
            "title": titles.get(name) or name.replace("_", " ").capitalize(),
            **schema_of(hint, optional=True),
        }
        if name in about:
            one["description"] = about[name]
        value = getattr(usual, name)
        if isinstance(value, str | int | float | bool):
            one["default"] = value
    return {"type": "object", "properties": properties, "additionalProperties": False}


def read_settings(kind: type[T], file: Path) -> T:
    """What the person set, and defaults for all else; raises ToolFailed. Blocks."""
    values, schema = stored(file), settings_schema(kind)
    known = {name: one for name, one in values.items() if name in as_object(schema["properties"])}
    try:
        good = check(ToolSpec("Settings", "", schema), known)
    except ToolFailed as error:
        raise ToolFailed(f"{file}: {error}") from error
    hints: dict[str, Any] = get_type_hints(kind)
    return kind(**{name: build(hints[name], one) for name, one in good.items()})


def stored(file: Path) -> JsonObject:
    """What the file has; raises ToolFailed for one that is no JSON. Blocks."""
    try:
        return as_object(json.loads(file.read_text("utf-8")))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ToolFailed(f"{file} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ToolFailed(f"{file} is no JSON: {error}. Correct or remove it.") from error


def write_settings(kind: type[Any], file: Path, values: JsonObject) -> None:
    """Keep some values beside those that are there; raises ToolFailed for wrong ones. Blocks."""
    schema = settings_schema(kind)
    if unknown := sorted(values.keys() - as_object(schema["properties"]).keys()):
        known = ", ".join(as_object(schema["properties"])) or "none"
        raise ToolFailed(f"There is no setting {unknown[0]}. Known are: {known}.")
    check(ToolSpec("Settings", "", schema), values)
    try:
        private_folder(file.parent)
        with exclusive_access(file):
            text = json.dumps({**stored(file), **values}, indent=2, ensure_ascii=False) + "\n"
            write_atomically(file, text.encode("utf-8", "replace"))
    except OSError as error:
        raise ToolFailed(f"{file} cannot be written: {error.strerror or error}.") from error
