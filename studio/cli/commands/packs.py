"""``agent-studio packs``: lists, installs, shows, updates, switches, removes packs (X-1, X-2)."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DENIED, DONE
from studio.cli.parser import CommandParser
from studio.processes.daemon_thread import in_daemon_thread

if TYPE_CHECKING:
    from studio.cli.console import Console
    from studio.extensions.packs.installed import InstalledPack, InstalledPacks, Offer


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Packs bring skills, commands, agents, workflows, servers and more. You see all that one "
        "brings before it is installed, and what changes before it is updated."
    )
    made = parser.add_subcommands(
        {
            "list": "all packs, and whether each is on",
            "add": "install a pack: a folder, a zip file, an address for git, a marketplace",
            "show": "all that a pack brings, also of one that is not installed",
            "update": "look where a pack came from, and install what is new there",
            "remove": "remove a pack; what it keeps for itself stays",
            "on": "switch a pack on, or some of what it brings",
            "off": "switch a pack off, or some of what it brings",
            "set": "look at the settings of a pack, or change one",
            "encrypt": "encrypt the records that a pack keeps, with a key in the keychain",
            "decrypt": "have these records as any program reads them again",
            "key": "type the key of encrypted records, or show it",
            "run": "a command that a pack brings; agent-studio PACK does the same",
        }
    )
    made["run"].add_argument("id", metavar="PACK", help="its id, as in packs list")
    made["run"].add_argument(
        "words", nargs=argparse.REMAINDER, metavar="WORDS", help="the command, and what it takes"
    )
    made["set"].add_argument("id", metavar="PACK", help="its id, as in packs list")
    made["set"].add_argument("name", nargs="?", default="", metavar="NAME", help="the setting")
    made["set"].add_argument("value", nargs="?", metavar="VALUE", help="its new value")
    for name, one in made.items():
        if name == "run":
            continue
        if name == "add":
            one.add_argument("origin", metavar="ORIGIN", help="where it is; git also with #BRANCH")
        elif name == "show":
            one.add_argument("id", metavar="PACK", help="its id, or where it is")
        elif name not in ("list", "set"):
            one.add_argument("id", metavar="PACK", help="its id, as in packs list")
        if name in ("on", "off"):
            one.add_argument("parts", nargs="*", metavar="PART", help="such as hooks or servers")
        if name in ("add", "show"):
            one.add_argument("--pack", default="", metavar="NAME", help="which of a marketplace")
        if name in ("add", "update", "on", "remove", "decrypt"):
            one.add_argument("--yes", action="store_true", help="without asking")
        one.add_argument("--json", action="store_true", help="print JSON")
    made["key"].add_argument("--show", action="store_true", help="print it, for a sheet of paper")
    made["encrypt"].add_argument(
        "--new-key", action="store_true", help="although an earlier key that is lost is in use"
    )
    made["remove"].add_argument(
        "--with-data", action="store_true", help="remove what it keeps for itself too"
    )


def pack_command(words: Sequence[str], file: Path) -> list[str] | None:
    """The words of ``packs run`` for a command of a pack that the person has; None for others.

    ``file`` is the list of packs. Blocks.
    """
    import json

    try:
        known = json.loads(file.read_text("utf-8"))["packs"]
        return ["packs", "run", *words] if words[0] in known else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List packs, install, show, update, switch or remove one."""
    from studio.extensions.packs.installed import InstalledPacks

    engine = await context.engine()
    if options.what == "run":
        from studio.cli.pack_verbs import run_verb

        return await run_verb(engine, context.console, options.id, options.words)
    if options.what == "set":
        from studio.cli.pack_verbs import change_settings

        return await change_settings(engine, context.console, options)
    if options.what in ("encrypt", "decrypt", "key"):
        from studio.cli.pack_keys import change_key

        return await change_key(engine, context.console, options)
    command = _Command(engine.services.get(InstalledPacks), options, context.console)
    return await getattr(command, f"do_{options.what}")()


class _Command:
    def __init__(
        self, packs: InstalledPacks, options: argparse.Namespace, console: Console
    ) -> None:
        self._packs = packs
        self._options = options
        self._console = console

    async def do_list(self) -> int:
        from studio.extensions.packs.manifest import WORDS

        packs = await asyncio.to_thread(self._packs.list)
        if self._options.json:
            self._console.write_json([_facts(one) for one in packs], indent=2)
        else:
            width = max((len(one.id) for one in packs), default=0)
            for one in packs:
                parts = [WORDS.get(part, part) for part in one.manifest.parts()]
                brings = ", ".join(parts) or "nothing"
                words = f"{one.id:<{width}}  {_state(one):<10}  {one.manifest.version:<8}  {brings}"
                self._console.row(words)
            if not packs:
                self._console.say("There is no pack. Install one: agent-studio packs add ORIGIN")
        if self._packs.problems:
            self._console.say(*self._packs.problems)
        return DONE

    async def do_show(self) -> int:
        from studio.extensions.packs.overview import overview

        wanted = self._options.id
        known = {one.id: one for one in await asyncio.to_thread(self._packs.list)}
        if (pack := known.get(wanted)) is not None:
            text = await asyncio.to_thread(overview, pack.manifest, pack.origin, pack.digest)
            facts = _facts(pack)
        else:
            if not (Path(wanted).exists() or ":" in wanted):
                await asyncio.to_thread(self._packs.get, wanted)  # says which there are
            offer = await in_daemon_thread(lambda: self._packs.look(wanted, self._options.pack))
            await asyncio.to_thread(self._packs.forget, offer)
            text, facts = offer.text, _offer_facts(offer)
        if self._options.json:
            self._console.write_json({**facts, "text": text})
        else:
            self._console.write(text)
        return DONE

    async def do_add(self) -> int:
        options = self._options
        return await self._offered(
            await in_daemon_thread(lambda: self._packs.look(options.origin, options.pack))
        )

    async def do_update(self) -> int:
        offer = await in_daemon_thread(lambda: self._packs.update(self._options.id))
        return await self._offered(offer)

    async def _offered(self, offer: Offer) -> int:
        """Show what was fetched; install it if the person wants it."""
        try:
            if not offer.is_news:
                pack = await asyncio.to_thread(self._packs.add, offer)  # perhaps from elsewhere
                return self._told(pack, "is as it was")
            if not self._options.json:
                if lines := _rights(offer):
                    self._console.write("\n".join(("What it may do otherwise:", *lines, "\n")))
                self._console.write(offer.text)
                if offer.before is not None:
                    self._console.write(f"\nWhat changes:\n{offer.change}\n")
            what = "Update" if offer.before else "Install"
            if not await self._console.agrees(
                f"{what} {offer.manifest.id}? It may do what is listed above.", self._options
            ):
                return DENIED
            pack = await asyncio.to_thread(self._packs.add, offer)
        finally:
            await asyncio.to_thread(self._packs.forget, offer)
        done = self._told(pack, "updated" if offer.before else "installed")
        if "mcp" in pack.manifest.parts() and not self._options.json:
            self._console.say("Its servers are off. To switch one on: agent-studio mcp on NAME")
        if "hooks" in pack.manifest.parts() and not self._options.json:
            self._console.say("Its hooks are off. To switch one on: agent-studio hooks on ID")
        return done

    async def do_remove(self) -> int:
        options = self._options
        home = self._packs.home(options.id)
        if options.with_data and not await self._console.agrees(
            f"Remove {options.id} and all that it keeps in {home}? Nobody can bring that back.",
            options,
        ):
            return DENIED
        kept = await asyncio.to_thread(self._packs.remove, options.id, options.with_data)
        if options.json:
            self._console.write_json({"id": options.id, "kept": str(kept) if kept else None})
            return DONE
        self._console.say(f"{options.id}: removed")
        if kept:
            self._console.say(f"What it keeps for itself is still in {kept}")
        return DONE

    async def do_on(self) -> int:
        pack = await asyncio.to_thread(self._packs.get, self._options.id)
        if not self._options.parts and pack.approved != pack.digest:
            from studio.extensions.packs.overview import overview

            if not self._options.json:
                text = await asyncio.to_thread(overview, pack.manifest, pack.origin, pack.digest)
                self._console.write(text)
            if not await self._console.agrees(f"Use {pack.id} as it is now?", self._options):
                return DENIED
            return self._told(
                await asyncio.to_thread(self._packs.approve, pack.id, pack.digest), "on"
            )
        return await self._switch(on=True)

    async def do_off(self) -> int:
        return await self._switch(on=False)

    async def _switch(self, *, on: bool) -> int:
        options, word = self._options, "on" if on else "off"
        if on:
            self._console.require_a_person()
        if not options.parts:
            return self._told(await asyncio.to_thread(self._packs.switch, options.id, on), word)
        pack = await asyncio.to_thread(self._packs.get, options.id)
        for part in options.parts:
            pack = await asyncio.to_thread(self._packs.switch_part, options.id, part, on)
        return self._told(pack, f"{', '.join(options.parts)} {word}")

    def _told(self, pack: InstalledPack, words: str) -> int:
        if self._options.json:
            self._console.write_json(_facts(pack))
        else:
            self._console.say(f"{pack.id}: {words}")
        return DONE


def _state(pack: InstalledPack) -> str:
    if pack.approved and pack.approved != pack.digest:
        return "changed"
    return "on" if pack.runs else "off"


def _facts(pack: InstalledPack) -> dict[str, object]:
    manifest = pack.manifest
    return {
        "id": pack.id,
        "name": pack.name,
        "version": manifest.version,
        "description": manifest.description,
        "state": _state(pack),
        "origin": pack.origin.shown,
        "commit": pack.origin.commit,
        "digest": pack.digest,
        "brings": {name: len(part.files) for name, part in manifest.parts().items()},
        "off": sorted(pack.off),
        "data": str(pack.home),
        "problems": list(manifest.problems),
    }


def _offer_facts(offer: Offer) -> dict[str, object]:
    parts = offer.manifest.parts()
    return {
        "id": offer.manifest.id,
        "name": offer.manifest.name,
        "version": offer.manifest.version,
        "origin": offer.origin.shown,
        "digest": offer.digest,
        "brings": {name: len(part.files) for name, part in parts.items()},
        "changes": _rights(offer),
        "problems": list(offer.manifest.problems),
    }


def _rights(offer: Offer) -> list[str]:
    """What an update may newly do, or not any more, in a line each."""
    return [
        f"{'+' if one.came else '-'} {one.kind} {one.name}{', changed' if one.changed else ''}"
        for one in offer.rights
    ]
