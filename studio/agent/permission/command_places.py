"""Command places: says which files a command runs, and in which folders.

A rule such as ``run(scripts/*)`` is about a place: ``./scripts/x`` is there, and neither is
``scripts/../x`` nor a link in ``scripts`` that leads away. After a ``cd`` the same words may
name another file. Everything here may touch the disk: call it in a thread.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from studio.domain.permissions import Rule
from studio.tools import Workspace

from .command_parts import CommandPart
from .pattern_match import quote_word
from .shell_lexer import DYNAMIC

_MOST_FOLDERS = 16
_NOWHERE = Path(os.sep, "-")
"""Stands for the folder where there is none."""
_WILD = re.compile(r"[*?\[]")


class CommandPlaces:
    """The places of one command line; ``moves`` are the folders that it changes to.

    It begins in the folder ``inside`` that of the chat.
    """

    def __init__(self, workspace: Workspace | None, moves: Sequence[str], inside: str) -> None:
        self._root = workspace.root if workspace is not None else _NOWHERE
        self._workspace = workspace
        self._begins = Path(os.path.normpath(self._root / inside))
        self._moves = moves
        self._known: dict[CommandPart, list[tuple[str, str]]] = {}

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Every folder that a part of the line may run in; empty if that is not known."""
        found = {self._begins: None}
        for move in self._moves:
            for folder in list(found):
                there = self._into(folder, move)
                if there is None or len(found) > _MOST_FOLDERS:
                    return ()
                found[there] = None
        return tuple(found)

    @property
    def stays(self) -> bool:
        """Whether every part runs in the folder of the chat."""
        return self.folders == (self._root,)

    def leaves(self, part: CommandPart) -> str:
        """Why a part may work outside the folder; empty if it does not."""
        if not part.goes:
            return ""
        for folder in self.folders or (self._begins,):
            there = self._into(folder, part.goes)
            if there is None:
                return "It goes to a folder that is only known when it runs."
            if not there.is_relative_to(self._root):
                return f"It goes to {there}, outside the folder."
        return ""

    def _into(self, folder: Path, move: str) -> Path | None:
        """The folder after a ``cd``; None if it is not known."""
        if DYNAMIC in move:
            return None
        there = folder / move
        if self._workspace is not None and there.is_relative_to(self._workspace.origin):
            there = self._root / there.relative_to(self._workspace.origin)  # it may be on a desk
        real = Path(os.path.realpath(there))
        # A shell takes ".." from the words, a program from the disk.
        return real if real == Path(os.path.realpath(os.path.normpath(there))) else None

    def names(self, part: CommandPart) -> list[tuple[str, str]]:
        """The text of a part with its files by their places, for each folder it may run in.

        Each is a pair: with links by their own names, and where they lead.
        """
        if not part.files:
            return []
        if part not in self._known:
            folders = self.folders or (None,)
            if len(folders) > 1:  # before the last ``cd`` only what is there can run
                there = [one for one in folders[:-1] if one and _exist(one, part)]
                folders = (*there, folders[-1])
            self._known[part] = list(dict.fromkeys(self._texts(part, one) for one in folders))
        return self._known[part]

    def _texts(self, part: CommandPart, folder: Path | None) -> tuple[str, str]:
        texts = [part.text, part.text]
        for at, path in part.files:
            for index, name in enumerate(self._named(folder, at, path)):
                texts[index] = _put(texts[index], at, path, name)
        return texts[0], texts[1]

    def placed(self, part: CommandPart) -> CommandPart:
        """The part with its files by their places, if the line goes elsewhere."""
        names = self.names(part)
        if self.stays or len(names) != 1 or DYNAMIC in names[0][0]:
            return part
        text = names[0][0]
        return replace(part, text=text, pinned=_beginning(text, part))

    def _named(self, folder: Path | None, at: int, path: str) -> tuple[str, str]:
        if folder is None and not Path(path).is_absolute():
            return DYNAMIC, DYNAMIC
        joined = (folder or self._root) / path
        real = Path(os.path.realpath(joined))
        own = real if ".." in path.split("/") else Path(os.path.normpath(joined))
        return self._name(own, at), self._name(real, at)

    def _name(self, place: Path, at: int) -> str:
        if not place.is_relative_to(self._root) or place == self._root:
            return place.as_posix()
        name = place.relative_to(self._root).as_posix()
        return name if at or "/" in name else f"./{name}"  # without it a program of the PATH

    def allows(self, rule: Rule, part: CommandPart) -> bool:
        """Whether a rule's pattern covers a part that runs files, wherever the line goes.

        A pattern that names a file covers it also as a link; one with a wildcard there covers
        only what is really at such a place.
        """
        placed = self._placing(rule, [at for at, _ in part.files])
        words = rule.pattern.split(" ")
        last = part.files[-1][0]
        named = last < len(words) and not _WILD.search("".join(words[: last + 1]))
        return all(
            placed.pattern.startswith(_beginning(own, part))
            and placed.matches(own)
            and (named or placed.matches(real))
            for own, real in self.names(part)
        )

    def readings(self, part: CommandPart) -> list[str]:
        """Every text by which a forbidding rule may name the part; a script also by itself."""
        texts = [text for pair in self.names(part) for text in pair]
        own = [text.split(" ", at)[-1] for text in texts for at, _ in part.files if at]
        return [*texts, *own]

    def placings(self, rule: Rule, part: CommandPart) -> set[Rule]:
        """A forbidding rule, also with its files written as ``readings`` has them."""
        if not part.files:
            return {rule}
        return {rule, self._placing(rule, [at for at, _ in part.files]), self._placing(rule, [0])}

    def _placing(self, rule: Rule, files: Sequence[int]) -> Rule:
        words = rule.pattern.split(" ")
        for at in files:
            if at < len(words):
                words[at] = self._pattern(words[at], at)
        return replace(rule, pattern=" ".join(words))

    def _pattern(self, word: str, at: int) -> str:
        """A word of a pattern, with its place written as those of files are."""
        if not word or word.startswith("*") or ("/" not in word and at == 0):
            return word
        if ".." in word.split("/"):
            if _WILD.search(word):
                return word
            return self._name(Path(os.path.realpath(self._root / word)), at)
        return self._name(Path(os.path.normpath(self._root / word)), at)


def _exist(folder: Path, part: CommandPart) -> bool:
    return all((folder / path).exists() for _, path in part.files)


def _beginning(text: str, part: CommandPart) -> str:
    """What a pattern must begin with, letter by letter; mostly nothing."""
    return " ".join(text.split(" ")[: part.files[-1][0] + 1]) if part.pinned else ""


def _put(text: str, at: int, path: str, name: str) -> str:
    """The text with another name for a path that is its word number ``at``."""
    words = text.split(" ", at)
    rest = words[-1][len(quote_word(path)) :]
    return " ".join([*words[:-1], f"{name if name == DYNAMIC else quote_word(name)}{rest}"])
