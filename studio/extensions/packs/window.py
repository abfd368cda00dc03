"""Pack window: reads what a manifest says of a pack's place in the window (KZ-9).

Pages by widgets and lines of the palette stand in the manifest, so that a start shows them without
running the pack's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_text
from studio.tools.packs.window import PageEntry, PaletteEntry

LONGEST = 80
"""Characters of a title."""
MOST = 50
"""Pages, and lines of the palette."""
T = TypeVar("T", PageEntry, PaletteEntry)


def window_pages(ours: JsonObject, problems: list[str]) -> tuple[PageEntry, ...]:
    """The pages by widgets; what cannot be used becomes a sentence in ``problems``."""
    found: dict[str, PageEntry] = {}
    for page in _entries(ours, "pages", _page, problems):
        if page.key in found:
            problems.append(f"Two pages are called {page.key}: the second was left out.")
        else:
            found[page.key] = page
    return tuple(found.values())


def palette_lines(ours: JsonObject, problems: list[str]) -> tuple[PaletteEntry, ...]:
    """The lines of the palette; what cannot be used becomes a sentence in ``problems``."""
    return tuple(_entries(ours, "palette", _line, problems))


def _entries(
    ours: JsonObject, name: str, read: Callable[[JsonObject], T], problems: list[str]
) -> Iterator[T]:
    said = ours.get(name, [])
    if not isinstance(said, list):
        problems.append(f"“{name}” is no list, and was left out.")
        return
    if len(said) > MOST:
        problems.append(f"“{name}” has more than {MOST} entries: the rest was left out.")
    for number, one in enumerate(said[:MOST], 1):
        try:
            yield read(as_object(one))
        except ValueError as error:
            words = escape_line(str(error), 200)
            problems.append(f"“{name}”, entry {number}, was left out: {words}")


def _page(said: JsonObject) -> PageEntry:
    source = said.get("widget")
    key, title, icon = _word(said, "key"), _title(said), _word(said, "icon") or "list"
    return PageEntry(key, title or key, as_text(source), icon)


def _line(said: JsonObject) -> PaletteEntry:
    title, page, target = _title(said), _word(said, "page"), said.get("target", [])
    if not title or not page:
        raise ValueError("“title” and “page” are needed.")
    if not isinstance(target, list) or not all(isinstance(one, str) for one in target):
        raise ValueError("“target” has to be a list of texts.")
    icon = _word(said, "icon") or "layers"
    return PaletteEntry(title, page, tuple(map(as_text, target)), icon)


def _title(said: JsonObject) -> str:
    return escape_line(_word(said, "title"), LONGEST)


def _word(said: JsonObject, name: str) -> str:
    value: Json = said.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"“{name}” has to be a text.")
    return value.strip()
