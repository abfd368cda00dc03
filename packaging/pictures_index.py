"""Writes index.html into the folder of pictures: one row for each state, its pictures beside."""

from __future__ import annotations

import sys
from collections import defaultdict
from html import escape
from pathlib import Path


def main(folder: Path) -> None:
    states: dict[str, list[Path]] = defaultdict(list)
    for picture in sorted(folder.glob("*/*.png")):
        states[picture.stem.rsplit("-", 2)[0]].append(picture.relative_to(folder))
    rows: list[str] = []
    for state, pictures in sorted(states.items()):
        names = [escape(picture.as_posix()) for picture in pictures]
        shown = (f'<a href="{name}"><img src="{name}" title="{name}"></a>' for name in names)
        rows.append(f"<h2>{escape(state)}</h2>{''.join(shown)}")
    style = "body{font:14px sans-serif;margin:24px}img{width:420px;margin:0 12px 12px 0}"
    page = f"<!doctype html><meta charset=utf-8><title>Pictures</title><style>{style}</style>"
    (folder / "index.html").write_text(page + "\n".join(rows), "utf-8")
    print(folder / "index.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
