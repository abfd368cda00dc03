"""``agent-studio models``: lists a provider's models."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE, PROVIDER
from studio.cli.parser import CommandParser, provider_option
from studio.providers.local_model import ABOUT
from studio.providers.local_model import PROVIDER as BUILT_IN


def arguments(parser: CommandParser) -> None:
    provider_option(parser)
    parser.add_argument("--refresh", action="store_true", help="ask the provider again")
    parser.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: Namespace) -> int:
    """List a provider's models: those fetched first, then those built in."""
    engine, console = await context.engine(), context.console
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
    return DONE if listing.models else PROVIDER
