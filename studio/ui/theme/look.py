"""What a person chose of the window's look."""

from __future__ import annotations

from typing import TypeAlias

from studio.domain.records import dataclass
from studio.storage.config.settings import Accent, Contrast, Motion, Settings, ThemeName

Setting: TypeAlias = ThemeName


@dataclass(frozen=True, slots=True)
class Look:
    """One choice of each. ``scale`` is the text size as a factor; "" is no choice of a font."""

    setting: Setting = "system"
    scale: float = 1.0
    accent: Accent = "blue"
    contrast: Contrast = "system"
    font: str = ""
    code_font: str = ""
    compact: bool = False
    wide: bool = False
    """A wider column of text in chats."""
    motion: Motion = "system"
    keycaps: bool = True
    """Buttons show their keys."""


def look_of(values: Settings) -> Look:
    """The look that the settings ask for."""
    return Look(
        setting=values.theme,
        scale=values.text_size / 100,
        accent=values.accent,
        contrast=values.contrast,
        font=values.font,
        code_font=values.code_font,
        compact=values.density == "compact",
        wide=values.wide_text,
        motion=values.motion,
        keycaps=values.show_keys,
    )
