"""The process that draws formulas: TeX in, SVG out, a line of JSON each.

Drawing takes 5 to 100 ms of Python each; in the window's process every frame would wait for it.
It ends with its standard input.
"""

from __future__ import annotations

import json
import sys

SIZE = 14.0
"""Pixels of an em in the drawings, near those on screen: some spaces are absolute."""


def main() -> None:
    from ziamath.config import config  # 0.3 s
    from ziamath.zmath import Latex

    config.svg2 = False  # Qt draws no symbols that are used from elsewhere
    config.precision = 4
    for line in sys.stdin:
        order = json.loads(line)
        try:
            drawn = Latex(order["tex"], size=SIZE, inline=not order["display"], margin=0)
            answer = {"svg": drawn.svg()}
        except Exception as error:  # the library raises whatever comes up on what it cannot draw
            answer = {"error": type(error).__name__}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
