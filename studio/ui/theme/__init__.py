"""The look of the window: colours, fonts, text size, icons and lengths.

- ``theme``: The object that every widget asks; makes the palette and the style sheet, and applies
  another text size.
- ``tokens``: The colours of the light and the dark theme, sizes and fonts, by name.
- ``accents``: Computes the colours of an accent, by rules of contrast.
- ``look``: What a person chose of the window's look.
- ``typefaces``: Finds the fonts of the window, and loads those that ship with the program.
- ``icons``: Loads icons and paints them in a colour.
- ``mirroring``: Mirrors what is painted where people read from the right.
"""

from .look import Look, Setting
from .theme import ICONS_OF_AGENTS, Theme, elided, joined

__all__ = ["ICONS_OF_AGENTS", "Look", "Setting", "Theme", "elided", "joined"]
