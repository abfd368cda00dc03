"""Makes the fonts in ``resources/fonts`` again from Debian's packages.

Run it with a Python that has ``fonttools``, in a folder with the unpacked packages
(``apt-get download fonts-inter fonts-jetbrains-mono``, then ``dpkg -x`` for each):

    python packaging/fonts.py FOLDER resources/fonts

Each face keeps the letters of European languages, punctuation, arrows and the shapes of a
terminal. Ligatures of code are left out: what is shown is what is typed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset

FACES = {
    "opentype/inter": ("Inter-Regular", "Inter-Medium", "Inter-SemiBold", "Inter-Italic"),
    "truetype/jetbrains-mono": (
        "JetBrainsMono-Regular",
        "JetBrainsMono-SemiBold",
        "JetBrainsMono-Italic",
    ),
}
COPYRIGHT = (
    "Inter: Copyright 2016-2022 The Inter Project Authors (https://github.com/rsms/inter)",
    "JetBrains Mono: Copyright 2020 The JetBrains Mono Project Authors "
    "(https://github.com/JetBrains/JetBrainsMono)",
)
RANGES = (
    (0x0020, 0x024F),  # Latin with its extensions
    (0x02B0, 0x036F),  # modifiers and combining marks
    (0x0370, 0x052F),  # Greek and Cyrillic
    (0x1E00, 0x1EFF),  # Latin, more
    (0x2000, 0x206F),  # punctuation
    (0x2070, 0x209F),  # small numbers above and below
    (0x20A0, 0x20BF),  # money
    (0x2100, 0x218F),  # letters as signs, fractions
    (0x2190, 0x21FF),  # arrows
    (0x2200, 0x22FF),  # mathematics
    (0x2300, 0x23FF),  # keys of a keyboard
    (0x2500, 0x25FF),  # boxes, blocks, shapes
    (0x2700, 0x27BF),  # ticks
)
FEATURES = ("kern", "mark", "mkmk", "ccmp", "locl", "tnum", "case")


def make(packages: Path, folder: Path) -> None:
    """Write each face, cut down, and the licences; ``packages`` holds both, unpacked."""
    folder.mkdir(parents=True, exist_ok=True)
    options = subset.Options(layout_features=list(FEATURES), notdef_outline=True, hinting=True)
    options.name_IDs = ["*"]
    letters = [letter for first, last in RANGES for letter in range(first, last + 1)]
    for place, faces in FACES.items():
        for face in faces:
            (source,) = (packages / "usr/share/fonts" / place).glob(f"{face}.*")
            font = subset.load_font(str(source), options)
            cut = subset.Subsetter(options)
            cut.populate(unicodes=letters)
            cut.subset(font)
            subset.save_font(font, str(folder / source.name), options)
    (folder / "LICENSE-OFL").write_text(licence(packages), encoding="utf-8")


def licence(packages: Path) -> str:
    """The Open Font License as Debian's file for Inter quotes it, under which both fonts are."""
    quoted = (packages / "usr/share/doc/fonts-inter/copyright").read_text(encoding="utf-8")
    body = quoted.split("License: OFL-1.1\n", 1)[1].split("\n\n", 1)[0]
    lines = [line.strip().removeprefix(".") for line in body.splitlines()]
    head = "Both fonts are cut down and under the SIL Open Font License, version 1.1."
    return "\n".join([*COPYRIGHT, "", head, "", *lines]) + "\n"


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
