"""Changes an entry as its person types it: its command or address, a key, a value (M-18).

Each returns the entry as it is then, and the secrets in it by their names in the keychain. Another
entry than was approved waits for the person's approval, as any does (M-12).
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from studio.domain.secret_names import names_secret
from studio.mcp.entries import ServerEntry, keychain_names, parse_entry

from .hiding import Hiding

Changed: TypeAlias = tuple[ServerEntry, dict[str, str]]
AUTHORIZATION = "Authorization"
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token)\s+(?=\S)")


def with_start(entry: ServerEntry, text: str, environment: Mapping[str, str]) -> Changed:
    """Another address, or another command with its arguments; ValueError says what is wrong."""
    text = text.strip()
    stays = replace(entry, command=text, arguments=(), url="")
    hiding = Hiding(entry.name, environment, keychain_names(stays))
    if entry.url:
        parse_entry(entry.name, {"type": entry.transport, "url": text})
        return replace(entry, url=hiding.address(text)), hiding.secrets
    words_of = shlex.shlex(text, posix=True)
    words_of.whitespace_split, words_of.commenters = True, ""
    if sys.platform == "win32":
        words_of.escape = ""  # there it stands between folders
    try:
        words = [*words_of]
    except ValueError as error:
        raise ValueError(f"has a quotation mark too few ({error})") from error
    if not words:
        raise ValueError("has no command")
    words = [re.sub(r"\A~(?=/|\Z)", lambda _: str(Path.home()), one) for one in words]
    arguments = hiding.arguments(words[1:])
    return replace(entry, command=words[0], arguments=arguments), hiding.secrets


def key_header(entry: ServerEntry) -> str:
    """The header that has a server's key, or would have it."""
    own = [name for name in entry.headers if names_secret(name)]
    return own[0] if own else AUTHORIZATION


def with_key(entry: ServerEntry, header: str, key: str) -> Changed:
    """A key in a header, after the word for its kind."""
    others = {name: one for name, one in entry.headers.items() if name.lower() != header.lower()}
    hiding = Hiding(entry.name, {}, keychain_names(replace(entry, headers=others)))
    scheme = _SCHEME.match(key)
    word = scheme[0] if scheme else "Bearer " if header.lower() == AUTHORIZATION.lower() else ""
    value = word + hiding.reference(header, key[scheme.end() if scheme else 0 :])
    return replace(entry, headers={**others, header: value}), hiding.secrets


def with_value(entry: ServerEntry, variable: str, value: str) -> Changed:
    """The value of a variable that is not set here: it is kept, and stands for it."""
    hiding = Hiding(entry.name, {}, keychain_names(entry))
    reference = hiding.reference(variable, value)

    def filled(text: str) -> str:
        return text.replace(f"${{{variable}}}", reference)

    changed = replace(
        entry,
        command=filled(entry.command),
        arguments=tuple(map(filled, entry.arguments)),
        environment={name: filled(one) for name, one in entry.environment.items()},
        folder=filled(entry.folder),
        url=filled(entry.url),
        headers={name: filled(one) for name, one in entry.headers.items()},
        oauth={name: filled(one) for name, one in entry.oauth.items()},
    )
    return changed, hiding.secrets
