"""Prints what CHANGELOG.md says of one version, for a release: ``notes.py [VERSION or TAG]``."""

from __future__ import annotations

import re
import sys

from definition import ROOT, definition


def notes(changelog: str, version: str) -> str:
    """The section of a version without its heading; empty if there is none."""
    found = re.search(
        rf"^## {re.escape(version)}(?![\w.]).*?\n(.*?)(?=^## |\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    return found[1].strip() if found else ""


def main() -> None:
    about = definition()
    wanted = (sys.argv[1] if len(sys.argv) > 1 else "").removeprefix("v") or about.version
    if wanted != about.version:
        raise SystemExit(f"The tag is of {wanted}, and the program is {about.version}.")
    if not (text := notes((ROOT / "CHANGELOG.md").read_text("utf-8"), wanted)):
        raise SystemExit(f"CHANGELOG.md says nothing of {wanted}.")
    print(text)


if __name__ == "__main__":
    main()
