"""Completion in a chat: slash commands, their values, agents, files and resources after @."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from studio.cli.console import visible_line

from .mentions import escape_name, open_mention

Offer: TypeAlias = tuple[str, str]
"""A value that can be typed, with a short description."""
Kind: TypeAlias = Literal[
    "", "file", "folder", "agent", "model", "permission", "session", "job", "word", "prompt"
]
"""The kind of value that a command takes."""
MOST = 200
"""The most names in a menu."""


class ChatCompleter(Completer):
    """Completes what is typed; runs in a thread, because it reads folders.

    ``commands`` returns what each command takes, ``offers`` returns the values of a kind.
    ``of_servers`` returns what MCP servers have for what is typed after a prompt's name, or
    after @ where there is none, and how many characters that takes the place of.
    """

    def __init__(
        self,
        commands: Callable[[], Mapping[str, tuple[Kind, str]]],
        offers: Callable[[Kind], Sequence[Offer]],
        folder: Callable[[], Path],
        of_servers: Callable[[str, str], tuple[int, Sequence[Offer]]] | None = None,
    ) -> None:
        self._commands = commands
        self._of_servers = of_servers
        self._offers = offers
        self._folder = folder

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        text = document.text_before_cursor
        if text.startswith("/") and "\n" not in text:
            name, space, rest = text.partition(" ")
            if not space:
                all_ = [(command, about) for command, (_, about) in self._commands().items()]
                yield from _matching(all_, name)
                return
            kind = self._commands().get(name, ("", ""))[0]
            if kind in ("file", "folder"):
                yield from self._files(rest, only_folders=kind == "folder")
            elif kind == "prompt":
                yield from self._server(name, rest)
            else:
                yield from _matching(self._offers(kind), rest)
            return
        if (typed := open_mention(text)) is not None:
            if text.startswith("@") and not any(map(str.isspace, text.replace("\\ ", ""))):
                yield from self._agents(typed)
            yield from self._files(typed, mention=True)
            yield from self._server("", typed)

    def _server(self, name: str, typed: str) -> Iterable[Completion]:
        if self._of_servers is None:
            return
        length, offers = self._of_servers(name, typed)
        for text, about in offers[:MOST]:
            yield Completion(
                text, -length, display=visible_line(text), display_meta=visible_line(about)
            )

    def _agents(self, start: str) -> Iterable[Completion]:
        """The agents that a message may begin with."""
        wanted = start.casefold()
        for name, about in self._offers("agent"):
            if name.casefold().startswith(wanted) and visible_line(name) == name:
                typed = escape_name(name)
                yield Completion(typed, -len(escape_name(start)), display_meta=visible_line(about))

    def _files(
        self, start: str, *, only_folders: bool = False, mention: bool = False
    ) -> Iterable[Completion]:
        head, _, tail = start.rpartition("/")
        folder = self._folder()
        try:
            place = folder / Path(head + "/" if start.startswith("/") else head).expanduser()
            if mention and not place.resolve().is_relative_to(folder.resolve()):
                return  # it could not be attached
            with os.scandir(place) as entries:
                found = [
                    (entry.name, entry.is_dir())
                    for entry in entries
                    if entry.name.startswith(tail)
                    and (tail.startswith(".") or not entry.name.startswith("."))
                ]
        except (OSError, ValueError, RuntimeError):  # no such folder, no such home
            return
        found.sort()
        for name, is_folder in found[:MOST]:
            if visible_line(name) != name or (only_folders and not is_folder):
                continue  # nobody could type it
            name, typed = (escape_name(name), escape_name(tail)) if mention else (name, tail)
            yield Completion(f"{name}/" if is_folder else name, -len(typed))


def _matching(offers: Sequence[Offer], start: str) -> Iterable[Completion]:
    wanted = start.casefold()
    first = [one for one in offers if one[0].casefold().startswith(wanted)]
    others = [one for one in offers if one not in first and wanted in one[0].casefold()]
    for text, about in [*first, *others][:MOST]:
        yield Completion(
            text, -len(start), display=visible_line(text), display_meta=visible_line(about)
        )
