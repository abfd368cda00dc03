"""``agent-studio models``: lists models, fetches and deletes those of this computer."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE, PROVIDER
from studio.cli.parser import CommandParser, provider_option
from studio.domain.errors import ConfigurationError
from studio.providers.local_model import ABOUT
from studio.providers.local_model import PROVIDER as BUILT_IN
from studio.providers.registry import EMBEDDED, PROVIDER_TITLES

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.cli.console import Console
    from studio.providers.model_files.downloads import Download

TENTHS = 10
"""How often the progress of a download is told."""


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "List a provider's models. `get` fetches a model for this computer from Hugging Face, or "
        "goes on with it; `remove` deletes it."
    )
    parser.add_argument(
        "what", nargs="?", choices=("list", "get", "remove"), default="list", metavar="WHAT",
        help="list, get or remove; default: list",
    )  # fmt: skip
    parser.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="NAME",
        help="get: OWNER/REPOSITORY or OWNER/REPOSITORY/FILE; remove: the model's id",
    )
    provider_option(parser)
    parser.add_argument("--refresh", action="store_true", help="ask the provider again")
    parser.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: Namespace) -> int:
    """List a provider's models: those fetched first, then those built in."""
    engine, console = await context.engine(), context.console
    if options.what == "get":
        return await _get(engine, console, options.name)
    if options.what == "remove":
        return await _remove(engine, console, options.name)
    name = options.provider or await engine.providers.default()
    listing = await engine.list_models(name, refresh=options.refresh)
    if options.json:
        found = [asdict(model) for model in listing.models]
        console.write_json(
            {"provider": name, "state": listing.state, "reason": listing.reason, "models": found}
        )
    else:
        width = max((len(model.id) for model in listing.models), default=0)
        for model in listing.models:
            window = f"{model.context_window:,}" if model.context_window else ""
            mark = "" if model.source == "fetched" else "built-in list"
            console.row(f"{model.id:<{width}}  {window:>9}  {mark}".rstrip())
        if name == BUILT_IN.name and not engine.settings.values.builtin_model:
            console.say(ABOUT)
        if listing.reason:
            console.say(listing.reason)
        if not options.provider and (others := await _others(engine, name)):
            console.say(f"These are {PROVIDER_TITLES[name]}'s. For others: --provider {others}")
    return DONE if listing.models else PROVIDER


async def _others(engine: Engine, name: str) -> str:
    """The other providers that are set up, in words; a computer's own are always there."""
    providers = engine.providers
    found = [one for one in PROVIDER_TITLES if one != name and one not in EMBEDDED]
    return " or ".join([one for one in found if await providers.is_connected(one)])


async def _get(engine: Engine, console: Console, name: str) -> int:
    """Fetch a model; raises ConfigurationError, HubProblem or DownloadFailed."""
    models = engine.local_models
    source = await models.find(name)
    told = -1

    def tell(download: Download) -> None:
        nonlocal told
        if download.state == "waiting" and told < 0:
            told = 0
            console.say("Another program is getting it. This waits until that is done.")
        tenth = TENTHS * download.done // download.size if download.size else -1
        if download.state == "fetching" and tenth > told:
            told = tenth
            done, size = download.done / 1e9, download.size / 1e9
            console.say(f"{done:.1f} of {size:.1f} GB, {download.speed / 1e6:.0f} MB/s")

    unsubscribe = models.downloads.subscribe(tell)
    try:
        await models.get(source)
        done = await models.downloads.ended(source)
    finally:
        unsubscribe()
    assert done.path is not None
    console.say(f"It is in {done.path}. Use it: --provider builtin --model")
    console.row(done.path.stem)
    return DONE


async def _remove(engine: Engine, console: Console, name: str) -> int:
    files, begun = await engine.local_models.files()
    found = next((file.path for file in files if file.id == name), None)
    found = found or next((one.path for one in begun if one.path.stem == name), None)
    if found is None:
        known = ", ".join([*(file.id for file in files), *(one.path.stem for one in begun)])
        there = f"There are {known}." if known else "None was fetched."
        raise ConfigurationError(f"There is no model {name or '(none named)'} here. {there}")
    await engine.local_models.delete(found)
    await engine.settings.save()
    console.say(f"{found} is deleted.")
    return DONE
