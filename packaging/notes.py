"""Prints what CHANGELOG.md says of one version, for a release: ``notes.py [VERSION or TAG]``.

A tag must be of the version that the program has, and of a section that is no longer being written.
"""

from __future__ import annotations

import re
import sys

from definition import ROOT, constant_of, definition

HEADING = re.compile(r"^## (\d[\w.]*)(.*)$", re.MULTILINE)
UNFINISHED = "(unreleased)"
FORMS = re.compile(constant_of(ROOT / "studio" / "agent" / "updates.py", "VERSION"))
"""Versions that an installed program understands: one of another form would hear of no update."""


def sections(changelog: str) -> list[tuple[str, str, str]]:
    """Version, the rest of its heading, and text of each section, in their order."""
    found = list(HEADING.finditer(changelog))
    ends = [*(one.start() for one in found[1:]), len(changelog)]
    return [
        (one[1], one[2].strip(), changelog[one.end() : end].strip())
        for one, end in zip(found, ends, strict=True)
    ]


def notes(changelog: str, version: str) -> str:
    """The section of a version without its heading; empty if there is none."""
    return next((text for of, _, text in sections(changelog) if of == version), "")


def released_notes(changelog: str, version: str, now: str) -> str:
    """The section of a version that is released; the program has the version ``now``."""
    if version != now:
        raise SystemExit(f"The tag is of {version}, and the program is {now}.")
    if not FORMS.fullmatch(version):
        words = "is no version such as 1.2, 1.2.3 or 1.2.3rc1: who has it would hear of no update."
        raise SystemExit(f"{version} {words}")
    text = notes(changelog, version)
    if not text:
        raise SystemExit(f"CHANGELOG.md says nothing of {version}.")
    if any(of == version and UNFINISHED in rest for of, rest, _ in sections(changelog)):
        raise SystemExit(f"CHANGELOG.md has {version} {UNFINISHED}: write the day in its place.")
    return text


def main(tag: str) -> None:
    now = definition().version
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    print(released_notes(changelog, tag.removeprefix("v"), now) if tag else notes(changelog, now))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
