"""Has a cheap model write the title of a chat, once its first answer is there.

Until then, and wherever that fails, the title is the beginning of the first message. A title of
the person is never replaced.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from studio.agent.prompts import TITLE_SYSTEM
from studio.domain.blocks import TextBlock, UserBlock
from studio.domain.models import ModelInfo
from studio.domain.redaction import holds_secret
from studio.domain.sessions import MAX_TITLE_LENGTH, title_of
from studio.providers.registry import EMBEDDED, PROVIDERS

from .session import Session

if TYPE_CHECKING:
    from studio.agent.services import Services

DEADLINE = 30.0
"""Seconds that the model has."""
READS = 1_000
"""Characters of message and answer that it is shown."""
_OTHER = re.compile(
    r"(?i)embed|audio|tts|speech|image|realtime|moderation|transcri|search|live|veo"
)
"""In names of models that do not chat."""


def wants_title(session: Session) -> bool:
    """Whether a model may name the chat: after its first turn, in a window, without secrets.

    Nor one of a provider that runs inside this program: that would take the computer's time.
    """
    info = session.info
    users = [one for one in session.transcript.blocks if isinstance(one, UserBlock)]
    return (
        info.origin == "window"
        and info.caller is None
        and not info.titled_by
        and info.provider not in EMBEDDED
        and len(users) == 1
        and info.title == title_of(users[0].said)
        and not holds_secret(users[0].text)
    )


def cheapest(models: list[ModelInfo], own: ModelInfo) -> str:
    """The cheapest model that chats; the chat's own where its price is not known."""

    def price(model: ModelInfo) -> float:
        known = model.input_price is not None and model.output_price is not None
        if not known or model.tools is False or _OTHER.search(model.id):
            return float("inf")
        return (model.input_price or 0.0) + (model.output_price or 0.0)

    if own.input_price is None or own.output_price is None:
        return own.id
    return min([own, *models], key=price).id


async def write_title(services: Services, session: Session, models: list[ModelInfo]) -> bool:
    """Name a chat; ``models`` are those of its provider. Whether it has a new title.

    What the request used is counted in the chat's budget and in the usage, whatever it brought.
    """
    info = session.info
    blocks = session.transcript.blocks
    said = next(one.text for one in blocks if isinstance(one, UserBlock))
    answer = next((one.text for one in blocks if isinstance(one, TextBlock)), "")
    own = services.model(info.provider, info.model)
    # Behind one address may be models of many companies: a chat is shown to its own only.
    of_one_company = info.provider in PROVIDERS and PROVIDERS[info.provider].price_table
    model = cheapest(models, own) if of_one_company else own.id
    agent = await services.agent(info.agent, Path(info.folder))
    budget = await services.budgets.for_turn(info, agent, None)
    words = f"The person:\n\n{said[:READS]}\n\nThe answer:\n\n{answer[:READS]}"
    target = (info.provider, model)
    found = await services.router.ask(
        target,
        TITLE_SYSTEM,
        words,
        budget,
        DEADLINE,
        subject=info.subject,
        agent=info.agent,
        purpose="title",
    )
    if found is None:
        return False
    turn_id = session.transcript.turn_id
    used = (found.usage, found.seconds, found.cost)
    await services.store.add_usage(info.id, turn_id, (info.agent, *target), *used)
    title = clean(found.text)
    if not title or not await services.store.give_title(info.id, title):
        return False
    session.state.info = replace(session.info, title=title, titled_by="model")
    return True


def clean(text: str) -> str:
    """A title of what a model replied; empty if that is none."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    title = " ".join(lines[0].split()).strip("\"'“”„«»*#` .") if len(lines) == 1 else ""
    return title if len(title) <= MAX_TITLE_LENGTH else ""
