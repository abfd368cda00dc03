"""The APIs that the server speaks: the registry of dialects.

A dialect translates an API's JSON to ``contract.ApiRequest`` and from
``contract.ResponsePart``. A new one is its module, a line in ``MODULES`` and
one in this list; see docs/extending/dialect.md. A dialect must not read ``DIALECTS``
while it is imported, because the registry imports it.

- ``attachments``: Reads pictures and files that come within a request.
- ``base``: The base class of a dialect.
- ``chat``: OpenAI's Chat Completions; ``chat_request`` reads its requests.
- ``client_tools``: Reads the client's own tools and writes calls of them.
- ``fields``: Reads a request's JSON field by field.
- ``messages``: Anthropic's Messages; ``messages_request`` reads its requests.
- ``openai_common``: What OpenAI's two APIs have in common.
- ``responses``: OpenAI's Responses; ``responses_request`` reads its requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from .base import Dialect

MODULES = (
    "chat",
    "responses",
    "messages",
)
"""Modules in this package. The first one answers on paths that belong to none, unless a
header says otherwise."""


def _dialect(module: str) -> Dialect:
    found: object = import_module(f"{__name__}.{module}").DIALECT
    assert isinstance(found, Dialect)
    return found


DIALECTS = {dialect.name: dialect for dialect in map(_dialect, MODULES)}


def dialect_of(path: str, headers: Mapping[str, str]) -> Dialect:
    """Return the dialect of a path, or else the one that the client seems to speak."""
    first, *_ = dialects = list(DIALECTS.values())
    for dialect in dialects:
        if path == dialect.path or path.startswith(f"{dialect.path}/"):
            return dialect
    return next((one for one in dialects if one.header and one.header in headers), first)
