"""OpenAI Chat Completions: what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.providers.simulator.view import RequestView

if TYPE_CHECKING:
    from ..surfaces.base import Maker


def check(view: RequestView, maker: Maker) -> None:
    """Raises Refused for the first rule the request breaks."""
