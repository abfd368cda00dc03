"""Server offers: resources of MCP servers under ``@``, and their prompts under ``/`` (M-21).

What is offered is what is remembered, so that no server has to run for it. A resource is named as
``server:address``, a prompt as ``server:prompt``. What comes of them are strangers' words.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from studio.agent.attachments import attach_picture, block_of
from studio.agent.permission.invisible_characters import escape_line, visible
from studio.agent.prompts import SERVER_PROMPT, SERVER_RESOURCE
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.extensions import Extension
from studio.domain.jsonvalue import JsonObject, as_text
from studio.domain.messages import INVOKED_PROMPT, File, Image, Said
from studio.domain.questions import AskForm
from studio.domain.records import dataclass
from studio.domain.server_names import server_prefix
from studio.mcp.catalogue import Catalogue
from studio.mcp.entries import Entries, ServerEntry
from studio.mcp.lists import Completing, ServerPrompt
from studio.mcp.naming import pool_name
from studio.mcp.results import PICTURES, Blob, ServerResult
from studio.mcp.servers import Servers

from .address_templates import before_variables, open_variable
from .prompt_arguments import arguments_of, form_of, hint, written

MOST_OFFERED = 100
"""Values of a server that are offered while the person types one."""
_UNSAFE = re.compile(r"[^\w.-]+")
_TYPED = re.compile(r"(?<!\S)(\w[\w.-]*)=(?:\"([^\"]*)|(\S*))\Z")
_AFTER = ".,;:!?)]}»”’\"'"
_ABOUT = 200
"""Characters of a server's words about a resource, in a list."""


@dataclass(frozen=True, slots=True)
class OfferedResource:
    """A resource as it is named after ``@``; a template's address has variables in braces."""

    name: str
    about: str = ""
    template: bool = False

    @property
    def begun(self) -> str:
        """What stands before the first variable."""
        return before_variables(self.name) if self.template else self.name


class ServerOffers:
    """What servers offer beside tools. Of ``entries``, which are the caller's, those that are on.

    What asks a server starts it, and raises ConfigurationError.
    """

    def __init__(self, servers: Servers, catalogue: Catalogue) -> None:
        self._servers, self._catalogue = servers, catalogue

    # What there is

    def resources(self, entries: Entries) -> list[OfferedResource]:
        """The resources that can be named after ``@``, templates last."""
        found: list[OfferedResource] = []
        for prefix, entry in _on(entries):
            lists = self._catalogue.known(entry).lists
            for listed, template in ((lists.resources, False), (lists.templates, True)):
                for one in listed:
                    name = f"{prefix}:{one.uri}"
                    if escape_line(name) == name and " " not in name:
                        about = escape_line(one.title or one.description or one.name, _ABOUT)
                        found.append(OfferedResource(name, about, template))
        return sorted(found, key=lambda one: one.template)

    def prompts(self, entries: Entries) -> list[Extension]:
        """The prompts that the person can call, like commands."""
        return [
            Extension(
                "prompt",
                name,
                escape_line(prompt.description or prompt.title or prompt.name, _ABOUT),
                "",
                entry.name,
                "",
                "own",
                for_model=False,
                hint=" ".join(map(hint, prompt.arguments)),
            )
            for name, (entry, prompt) in self._prompts(entries).items()
        ]

    def prompt_form(self, entries: Entries, name: str) -> JsonObject:
        """A schema for the arguments of a prompt."""
        _, prompt = self._prompt(entries, name)
        return form_of(prompt)

    def missing_form(self, entries: Entries, text: str) -> JsonObject | None:
        """A schema for what a message that calls a prompt does not give; None if it has all."""
        name, _, rest = text.removeprefix("/").partition(" ")
        if name not in (known := self._prompts(entries)):
            return None
        prompt = known[name][1]
        given, missing = arguments_of(prompt, rest)
        left = tuple(one for one in prompt.arguments if as_text(one.get("name")) not in given)
        return form_of(replace(prompt, arguments=left)) if missing else None

    def _prompts(self, entries: Entries) -> dict[str, tuple[ServerEntry, ServerPrompt]]:
        found: dict[str, tuple[ServerEntry, ServerPrompt]] = {}
        for prefix, entry in _on(entries):
            for prompt in self._catalogue.known(entry).lists.prompts:
                found.setdefault(f"{prefix}:{_UNSAFE.sub('_', prompt.name)}", (entry, prompt))
        return found

    def _prompt(self, entries: Entries, name: str) -> tuple[ServerEntry, ServerPrompt]:
        if (found := self._prompts(entries).get(name)) is None:
            raise ConfigurationError(f"There is no prompt /{name} any more. Nothing was sent.")
        return found

    # What a person is typing

    async def completed(
        self, entries: Entries, typed: str, folder: Path | None
    ) -> list[OfferedResource]:
        """How what stands after ``@`` can go on, where it is a template's address.

        One that is whole is no ``template`` any more.
        """
        found: dict[str, OfferedResource] = {}
        for entry, uri in _named(entries, typed):
            prefix = typed[: -len(uri)] if uri else typed
            for one in self._catalogue.known(entry).lists.templates:
                about = escape_line(one.title or one.description or one.name, _ABOUT)
                variable = open_variable(one.uri, uri)
                if variable is None:
                    continue
                if variable.value and not variable.after:
                    found.setdefault(typed, OfferedResource(typed, about))
                wanted = Completing(
                    "resource", one.uri, variable.name, variable.value, variable.given
                )
                for value in await self._values(entry, wanted, folder):
                    whole = variable.before + quote(value, safe=variable.safe) + variable.after
                    name = f"{prefix}{whole}"
                    open_ = open_variable(one.uri, whole)
                    more = open_ is not None and not open_.value
                    found.setdefault(name, OfferedResource(name, about, more))
        return list(found.values())[:MOST_OFFERED]

    async def completed_argument(
        self, entries: Entries, name: str, text: str, folder: Path | None
    ) -> tuple[int, list[tuple[str, str]]]:
        """What may stand at the end of what is typed after ``/name``, each with a word about it.

        Also how many characters at the end of ``text`` it takes the place of.
        """
        _, prompt = self._prompt(entries, name)
        about = {as_text(a.get("name")): as_text(a.get("description")) for a in prompt.arguments}
        begun = _TYPED.search(text)
        if begun is not None and begun[1] in about:
            given, _ = arguments_of(prompt, text[: begun.start()])
            typed = begun[2] if begun[2] is not None else begun[3]
            values = await self.values(entries, name, begun[1], typed, given, folder)
            return len(begun[0]), [(written({begun[1]: one}), "") for one in values]
        word = re.split(r"\s", text)[-1]
        given, _ = arguments_of(prompt, text[: len(text) - len(word)])
        names = [one for one in about if one not in given and one.startswith(word)]
        return len(word), [(f"{one}=", escape_line(about[one], _ABOUT)) for one in names]

    async def values(
        self,
        entries: Entries,
        name: str,
        argument: str,
        typed: str,
        given: Mapping[str, str],
        folder: Path | None,
    ) -> list[str]:
        """The values for one argument of a prompt that begin as typed, or as the server says."""
        entry, prompt = self._prompt(entries, name)
        wanted = Completing("prompt", prompt.name, argument, typed, tuple(given.items()))
        return await self._values(entry, wanted, folder)

    async def _values(
        self, entry: ServerEntry, wanted: Completing, folder: Path | None
    ) -> list[str]:
        try:
            found = await self._servers.complete(pool_name(entry), wanted, folder)
        except ToolFailed as error:
            raise ConfigurationError(str(error)) from error
        return [one for one in found if one and escape_line(one) == one][:MOST_OFFERED]

    # What a message names

    def resource_in(self, entries: Entries, word: str) -> str:
        """The resource that a word after ``@`` names, without what ends a sentence; or nothing."""
        if not any(":" in uri for _, uri in _named(entries, word)):
            return ""
        listed = {one.name for one in self.resources(entries)}
        return word if word in listed else word.rstrip(_AFTER)

    async def attach(
        self, entries: Entries, name: str, folder: Path | None, ask: AskForm | None = None
    ) -> list[Image | File]:
        """A resource by its name, as what goes with a message."""
        entry, uri = next(iter(_named(entries, name)), (None, ""))
        if entry is None:
            raise ConfigurationError(f"No server that is on has a resource {name}.")
        try:
            parts = await self._servers.read(pool_name(entry), uri, folder, ask)
        except ToolFailed as error:
            raise ConfigurationError(str(error)) from error
        if not parts:
            raise ConfigurationError(f"{name} is empty.")
        return [await attached(entry.name, one, name) for one in parts]

    async def fill_in(
        self, entries: Entries, name: str, text: str, folder: Path | None
    ) -> tuple[Said, ...]:
        """What a prompt says for the arguments in ``text``, as what goes with a message."""
        entry, prompt = self._prompt(entries, name)
        given, missing = arguments_of(prompt, text)
        if missing:
            example = " ".join(f"{one}=…" for one in missing)
            raise ConfigurationError(f"/{name} needs more, so nothing was sent: /{name} {example}")
        try:
            found = await self._servers.prompt(pool_name(entry), prompt.name, given, folder)
        except ToolFailed as error:
            raise ConfigurationError(str(error)) from error
        words = SERVER_PROMPT.format(name=name, server=entry.name, text=visible(found.text))
        label = f"{name.replace(':', '-')}.md"
        parts: list[Said] = [File(label, INVOKED_PROMPT, words.encode("utf-8", "replace"))]
        for number, picture in enumerate(found.images, 1):
            parts.append(await attach_picture(picture.data, f"Picture {number} of /{name}"))
        for blob in found.blobs:
            parts.append(await attached(entry.name, blob, blob.name or name))
        return tuple(parts)


async def attached(server: str, part: Blob, name: str) -> Image | File:
    """A part of a resource as what goes with a message; raises ConfigurationError."""
    block = await asyncio.to_thread(block_of, part.name or name, part.data)
    if not isinstance(block, File):
        return block
    data = block.data
    if block.media_type != "application/pdf":
        text = visible(data.decode("utf-8", "replace"))
        about = SERVER_RESOURCE.format(server=server, address=escape_line(part.name or name))
        data = f"{about}\n{text}".encode("utf-8", "replace")
    return File(name, block.media_type, data)


def shown(parts: Iterable[Blob]) -> ServerResult:
    """A resource as a person looks at it."""
    texts: list[str] = []
    pictures: list[Image] = []
    others: list[Blob] = []
    for one in parts:
        kind = one.media_type.partition(";")[0].strip().lower()
        if kind in PICTURES:
            pictures.append(Image(kind, one.data))
            continue
        try:
            texts.append(one.data.decode())
        except UnicodeDecodeError:
            others.append(one)
    return ServerResult(visible("\n\n".join(texts)), tuple(pictures), tuple(others))


def _on(entries: Entries) -> Iterator[tuple[str, ServerEntry]]:
    """The servers that are on, by what stands before their names of resources and prompts."""
    for entry in entries.by_name.values():
        if entry.runs:
            yield server_prefix(entry.name), entry


def _named(entries: Entries, typed: str) -> Iterable[tuple[ServerEntry, str]]:
    """The server that a name begins with, and the rest."""
    for prefix, entry in _on(entries):
        if typed.startswith(f"{prefix}:"):
            yield entry, typed[len(prefix) + 1 :]
