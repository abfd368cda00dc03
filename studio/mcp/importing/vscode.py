"""``mcp.json`` of VS Code: ``servers``, and ``inputs`` that it asks the person for.

An input is asked for here too: its value goes to the keychain, whether it is a password or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from studio.mcp.entries import key_prefix

from .common import Format, common_server, read_object, settings_folder, table
from .found import Found, Surroundings
from .hiding import KEYCHAIN

_INPUT = re.compile(r"\$\{input:([^{}]+)\}")
_VARIABLE = re.compile(r"\$\{env:([^{}:]+)\}")
_PRODUCTS = ("Code", "Code - Insiders", "VSCodium")


def _places(around: Surroundings) -> Iterator[Path]:
    for product in _PRODUCTS:
        folder = settings_folder(around, product, product, product) / "User"
        yield folder / "mcp.json"
        yield folder / "settings.json"


def _read(text: str, around: Surroundings) -> list[Found]:
    file = read_object(text)
    file = table(file.get("mcp")) or file  # in settings.json it is all below one key
    return read_servers(file, around)


def read_servers(file: Mapping[str, Any], around: Surroundings) -> list[Found]:
    """The servers of an object with ``servers`` and perhaps ``inputs``."""
    listed = file.get("inputs")
    asked = cast("list[Any]", listed) if isinstance(listed, list) else []
    inputs = {str(table(one).get("id")): table(one) for one in asked}
    found: list[Found] = []
    for name, given in table(file.get("servers")).items():
        prefix = key_prefix(name.strip())

        def change(text: str, prefix: str = prefix) -> str:
            return with_places(_INPUT.sub(lambda m: _value(m[1], inputs, prefix), text), around)

        abouts = {_plain(key): str(one.get("description") or "") for key, one in inputs.items()}
        found.append(common_server(name, given, around, change, abouts=abouts))
    return found


def _value(key: str, inputs: Mapping[str, Mapping[str, Any]], prefix: str) -> str:
    """What stands for an input: its default, or a place in the keychain."""
    default = inputs.get(key, {}).get("default")
    if isinstance(default, str) and default and not inputs[key].get("password"):
        return default
    return f"${{{KEYCHAIN}{prefix}{_plain(key)}}}"


def _plain(key: str) -> str:
    """An input's name as it stands in the keychain."""
    return re.sub(r"[^\w.-]+", "-", key)


def with_places(text: str, around: Surroundings) -> str:
    """The variables of editors in our notation, and their folders as they are."""
    text = _VARIABLE.sub(r"${\1}", text).replace("${userHome}", str(around.home))
    text = text.replace("${/}", "/").replace("${pathSeparator}", "/")
    if around.folder is not None:
        text = text.replace("${workspaceFolder}", str(around.folder))
        text = text.replace("${workspaceFolderBasename}", around.folder.name)
    return text


VSCODE = Format("VS Code", _places, (".vscode/mcp.json",), _read)
