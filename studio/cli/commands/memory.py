"""``agent-studio memory``: lists, finds and shows notes, and decides about them (W-69)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from studio.cli.console import Console
    from studio.domain.jsonvalue import JsonObject
    from studio.tools.memory.note import Note
    from studio.tools.memory.note_index import Entry
    from studio.tools.memory.note_store import NoteStore

WHOSE = {"yours": "yours", "agent": "an agent’s", "strangers": "from strangers"}
DECISIONS = ("approve", "reject", "forget")


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Notes are what agents and you keep about a folder for later chats. What an agent notes "
        "waits until you approve it."
    )
    made = parser.add_subcommands(
        {
            "list": "the notes about a folder, first what waits for you",
            "search": "the notes that fit some words best",
            "show": "print one, with who wrote it and what it was made from",
            "approve": "keep notes that wait for you",
            "reject": "drop notes that wait for you",
            "forget": "forget notes that were kept",
        }
    )
    made["search"].add_argument("words", metavar="WORDS", nargs="+", help="in German or English")
    made["show"].add_argument("name", metavar="NAME", help="its name, as list has it")
    made["show"].add_argument("--waiting", action="store_true", help="the one that waits for you")
    made["list"].add_argument("--waiting", action="store_true", help="only what waits for you")
    for name in DECISIONS:
        made[name].add_argument("names", metavar="NAME", nargs="+", help="names, as list has them")
    made["forget"].add_argument(
        "--for-good", action="store_true", help="also what could bring it back"
    )
    for name, one in made.items():
        one.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
        if name in ("list", "search"):
            one.add_argument("--all", action="store_true", help="of all folders")
        one.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List, search or show notes, or decide about them."""
    import asyncio

    from studio.domain.errors import ToolFailed
    from studio.processes.environment import child_environment
    from studio.tools.memory.nearness import Nearness
    from studio.tools.memory.note_store import EVERYWHERE, NoteStore, place_of

    nearness = Nearness(child_environment)
    store = NoteStore(context.paths.data / "notes", nearness)
    place = place_of((options.folder or Path.cwd()).resolve())
    try:
        if options.what in ("list", "search"):
            places = [place, EVERYWHERE]
            if options.all:
                places = await asyncio.to_thread(store.places)
            found = await asyncio.to_thread(_found, store, places, options)
            _print(store, found, options, context.console)
        elif options.what == "show":
            note = await asyncio.to_thread(_note, store, place, options)
            _show(note, context.console, as_json=options.json)
        else:
            _require_person(context.console, options.what)
            await asyncio.to_thread(_decide, store, place, options)
            done = {"approve": "kept", "reject": "dropped", "forget": "forgotten"}[options.what]
            if options.json:
                context.console.write_json([{"name": one, "done": done} for one in options.names])
            else:
                for name in options.names:
                    context.console.say(f"The note {name} is {done}.")
    except ToolFailed as failure:
        raise ConfigurationError(str(failure)) from failure
    finally:
        nearness.close()
    return DONE


def _require_person(console: Console, what: str) -> None:
    """An agent's command decides about no note: what it proposed would be kept by itself."""
    from studio.agent.studios_above import studios_above

    console.require_a_person()
    if studios_above():
        raise ConfigurationError(f"An agent started this program, so it cannot {what} notes.")


def _found(store: NoteStore, places: Sequence[str], options: argparse.Namespace) -> list[Entry]:
    if options.what == "search":
        words = " ".join(options.words)
        return store.index.find(places, words, limit=20, near=True) if places else []
    waiting = store.index.entries(places, "proposed") if places else []
    kept = store.index.entries(places, "kept") if places and not options.waiting else []
    return [*waiting, *kept]


def _note(store: NoteStore, place: str, options: argparse.Namespace) -> Note:
    from studio.tools.memory.note_store import EVERYWHERE

    tries = [(place, "proposed")] if options.waiting else [(place, "kept"), (EVERYWHERE, "kept")]
    tries += [] if options.waiting else [(place, "proposed")]
    for where, state in tries:
        note = store.get(where, options.name, "kept" if state == "kept" else "proposed")
        if note is not None:
            return note
    raise ConfigurationError(f"There is no note {options.name}. See them: agent-studio memory list")


def _decide(store: NoteStore, place: str, options: argparse.Namespace) -> None:
    for name in options.names:
        if options.what == "approve":
            store.keep(place, name)
        elif options.what == "reject":
            store.drop(place, name, "proposed")
        elif options.for_good:
            store.erase(place, name)
        else:
            store.drop(place, name)


def _print(
    store: NoteStore, found: Sequence[Entry], options: argparse.Namespace, console: Console
) -> None:
    from datetime import datetime

    if options.json:
        console.write_json([{**_facts(one), "folder": store.about(one.place)} for one in found])
        return
    for one in found:
        day = datetime.fromtimestamp(one.written).strftime("%Y-%m-%d")
        waits = "waits  " if one.state == "proposed" else ""
        where = f"  {store.about(one.place) or 'everywhere'}" if options.all else ""
        mark = "  (reads like an order)" if one.marked else ""
        console.row(
            f"{waits}{one.name}  {day}  {one.kind}, {WHOSE[one.trust]}: {one.title}{mark}{where}"
        )
    if not found:
        nothing = (
            "Nothing fits." if options.what == "search" else "Nothing is noted about this folder."
        )
        console.say("Nothing waits for you." if getattr(options, "waiting", False) else nothing)


def _facts(one: Entry) -> JsonObject:
    return {
        "name": one.name,
        "title": one.title,
        "state": one.state,
        "kind": one.kind,
        "trust": one.trust,
        "by": one.by,
        "written": one.written,
        "marked": one.marked,
    }


def _show(note: Note, console: Console, *, as_json: bool) -> None:
    from datetime import datetime

    from studio.tools.memory.order_marks import marks_of

    marks = marks_of(note.text)
    if as_json:
        console.write_json(
            {
                "name": note.name,
                "text": note.text,
                "state": "proposed" if note.proposed else "kept",
                "forgets": note.forgets,
                "kind": note.kind,
                "trust": note.trust,
                "by": note.by,
                "written": note.written,
                "session": note.session,
                "turn": note.turn,
                "origin": note.origin,
                "sources": [
                    {"what": one.what, "name": one.name, "trust": one.trust} for one in note.sources
                ],
                "marks": [{"kind": one.kind, "words": one.words} for one in marks],
            }
        )
        return
    day = datetime.fromtimestamp(note.written).strftime("%Y-%m-%d %H:%M")
    console.row(f"{note.name}  {note.kind}, {WHOSE[note.trust]}, by {note.by or 'you'}, {day}")
    if note.proposed:
        console.row("Waits for you: to forget it" if note.forgets else "Waits for you")
    for source in note.sources:
        console.row(f"From {source.what} {source.name} ({WHOSE[source.trust]})")
    if note.origin:
        console.row(f"Strangers’ words had been read: {note.origin}")
    for mark in marks:
        hidden = "hides something" if mark.kind == "hidden" else "reads like an order"
        console.row(f"“{mark.words}” {hidden}")
    console.row("")
    for line in note.text.splitlines():
        console.row(line)
