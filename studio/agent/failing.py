"""What the person is told of an error."""

from __future__ import annotations

import logging
import math

from studio.domain.errors import FolderGone, ProviderError, StorageError, StudioError
from studio.domain.events import Failed

log = logging.getLogger(__name__)


def describe_error(error: Exception) -> Failed:
    """What the person is told of an error that ended a turn, or kept it from beginning."""
    match error:
        case ProviderError():
            detail = f"{_asked(error)} Your message is kept.".lstrip()
            return Failed(error.fault, str(error), detail, error.provider, error.retry_after)
        case StorageError():
            return Failed("storage", "This could not be saved", str(error))
        case FolderGone():
            return Failed("no_folder", str(error), "Your message is kept.")
        case StudioError():
            return Failed("configuration", str(error), "Your message is kept.")
        case _:
            log.error("a turn failed", exc_info=error)
            detail = f"{type(error).__name__}: {error}"
            return Failed("internal", "Something went wrong in the program", detail)


def _asked(error: ProviderError) -> str:
    """The wait that a provider asks for, where it is worth saying."""
    minutes = math.ceil((error.retry_after or 0.0) / 60)
    if minutes < 2:
        return ""
    if minutes < 120:
        return f"It asks for a wait of {minutes} minutes."
    return f"It asks for a wait of {math.ceil(minutes / 60)} hours."
