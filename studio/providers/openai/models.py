"""Models: leaves out of OpenAI's list what does not chat (P-2)."""

from __future__ import annotations

import re
import time

from studio.domain.jsonvalue import Json, as_objects
from studio.domain.models import ModelInfo

_CHAT = re.compile(r"^(gpt-|chatgpt-|codex-|o\d)")
_NOT_CHAT = re.compile(
    r"embedding|audio|realtime|transcribe|translate|tts|whisper|image|dall-e|moderation|instruct"
    r"|search|deep-research|computer-use|-live|^gpt-oss|:ft|^ft[:-]|ckpt-|-base$"
)


def chat_models(listed: Json, now: float) -> list[ModelInfo]:
    """The models of ``/v1/models`` that chat, newest first (P-2).

    The list says nothing of a model's abilities, so names decide. Models shut
    down before ``now`` (seconds since 1970) are left out.
    """
    found: list[tuple[float, ModelInfo]] = []
    for fields in as_objects(listed):
        identifier, created = fields.get("id"), fields.get("created")
        if not isinstance(identifier, str) or not _CHAT.match(identifier):
            continue
        retires = _date(fields.get("shutdown_date"))
        if _NOT_CHAT.search(identifier) or (retires and retires < _day(now)):
            continue
        age = created if isinstance(created, int | float) and abs(created) < 1e11 else 0
        found.append((age, ModelInfo(identifier, retires=retires)))
    found.sort(key=lambda pair: (-pair[0], pair[1].id))
    return [info for _, info in found]


def _date(value: Json) -> str:
    """``2026-11-21`` of such a text or of seconds since 1970; empty for anything else."""
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value):
        return value[:10]
    return _day(value) if isinstance(value, int | float) and 0 < value < 1e11 else ""


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
