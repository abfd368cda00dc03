"""What OpenAI's two surfaces refuse alike: parameters by model, and pictures."""

from __future__ import annotations

import re

from studio.simulator import media
from studio.simulator.json_read import obj
from studio.simulator.request_view import RequestView
from studio.simulator.rules import RequestRefused

_REASONS = re.compile(r"o\d|gpt-5|sim-reasoning")
_PLAIN = re.compile(r"gpt-(3\.5|4)")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_LIMIT = 20 * 1024 * 1024


def reasons(model: str) -> bool:
    """Whether the model reasons, and so takes no sampling."""
    return _REASONS.match(model) is not None


def check_effort(view: RequestView, effort: object, param: str) -> None:
    """Raises Refused for a level nobody knows, or for any with a model that does not reason."""
    if effort is None:
        return
    if _PLAIN.match(view.model):
        raise RequestRefused(
            "parameter",
            f"Unsupported parameter: '{param}' is not supported with this model.",
            param=param,
            code="unsupported_parameter",
        )
    if effort not in _EFFORTS:
        known = ", ".join(f"'{name}'" for name in _EFFORTS[:-1])
        raise RequestRefused(
            "parameter",
            f"Invalid value: '{effort}'. Supported values are: {known}, and '{_EFFORTS[-1]}'.",
            param=param,
            code="invalid_value",
        )


def check_temperature(view: RequestView, unsupported: str) -> None:
    """Raises Refused for a temperature out of range, or for one that a reasoning model is sent."""
    value = view.body.get("temperature")
    if not isinstance(value, int | float):
        return
    for bad, side, limit in ((value < 0, "below minimum", 0), (value > 2, "above maximum", 2)):
        if bad:
            sign = ">=" if limit == 0 else "<="
            raise RequestRefused(
                "parameter",
                f"Invalid 'temperature': decimal {side} value. Expected a value {sign} {limit}, "
                f"but got {value} instead.",
                param="temperature",
                code=f"decimal_{side.replace('imum', '').replace(' ', '_')}_value",
            )
    effort = view.body.get("reasoning_effort") or obj(view.body.get("reasoning")).get("effort")
    if value != 1 and reasons(view.model) and effort != "none":
        raise RequestRefused(
            "parameter",
            unsupported.format(value),
            param="temperature",
            code="unsupported_parameter" if "parameter" in unsupported else "unsupported_value",
        )


def bad_picture(url: str) -> tuple[str, str] | None:
    """What is wrong with a picture's address, with a place to fill in, and its code."""
    if url.startswith(("http://", "https://")):
        return None
    kind, data = media.data_url(url)
    if not url.startswith("data:"):
        return (
            "Invalid '{}'. Expected a valid URL, but got a value with an invalid format.",
            "invalid_value",
        )
    if data is None:
        return (
            "Invalid '{}'. Expected a base64-encoded data URL with an image MIME type (e.g. "
            "'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without the 'data:' "
            "prefix or with data that is not base64.",
            "invalid_value",
        )
    if kind not in media.IMAGES or media.sniffed(data) not in ("", *media.IMAGES):
        return (
            "You uploaded an unsupported image. Please make sure your image has of one the "
            "following formats: ['png', 'jpeg', 'gif', 'webp'].",
            "invalid_image_format",
        )
    if len(data) > _LIMIT:
        return "The image at '{}' is larger than 20 MB.", "image_too_large"
    return None
