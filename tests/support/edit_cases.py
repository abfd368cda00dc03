"""Near misses of edits: copies of parts of files, wrong in the ways in which models get them wrong.

Each case is made of a real change of a file and one way to miss: the right result is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

PYTHON = '''\
"""Reads the readings of a meter."""

import csv
from pathlib import Path


class Meter:
    """One meter, by its number."""

    def __init__(self, number: int, folder: Path) -> None:
        self.number = number
        self.folder = folder

    def readings(self) -> list[float]:
        found = []
        with (self.folder / f"{self.number}.csv").open() as file:
            for row in csv.reader(file):
                if row and row[0] != "day":
                    found.append(float(row[1]))
        return found

    def total(self) -> float:
        """The sum of all readings – not their mean."""
        return sum(self.readings())


def main() -> None:
    meter = Meter(7, Path("data"))
    if not meter.readings():
        print("No readings: “data” is empty.")
    else:
        print("total:", meter.total())
'''
SCRIPT = """\
export async function load(url, options = {}) {
  const { retries = 3, wait = 200 } = options;
  for (let attempt = 0; attempt < retries; attempt += 1) {
    try {
      const answer = await fetch(url);
      if (answer.ok) {
        return await answer.json();
      }
      console.warn(`status ${answer.status}`);
    } catch (error) {
      console.warn('no answer', error);
    }
    await new Promise((done) => setTimeout(done, wait * 2 ** attempt));
  }
  throw new Error("It's not there.");
}

export function names(rows) {
  return rows.map((row) => row.name);
}
"""
MAKEFILE = """\
CC ?= cc
FLAGS := -O2 -Wall

all: meter

meter: main.o read.o
\t$(CC) $(FLAGS) -o $@ $^

test: meter
\tif ./meter --check; then \\
\t\techo fine; \\
\telse \\
\t\techo broken; \\
\tfi

clean:
\trm -f *.o meter
"""
YAML = """\
name: meters
on:
  push:
    branches: [main]
jobs:
  build:
    steps:
      - uses: checkout
      - run: make
  lint:
    steps:
      - uses: checkout
      - run: make lint
        env:
          STRICT: "yes"
"""
PROSE = """\
# Readings

The meter’s numbers are read once a day – at noon – and kept for a year.

- “day” is the date,
- “value” is in kWh,
- an empty row is left out.

If the meter stops, it’s the battery: change it within two weeks.
"""
QUERY = """\
CREATE TABLE reading (
    meter   INTEGER NOT NULL,
    day     TEXT    NOT NULL,
    value   REAL    NOT NULL,
    PRIMARY KEY (meter, day)
);

SELECT meter, sum(value) AS total
  FROM reading
 WHERE day >= '2026-01-01'
 GROUP BY meter
 ORDER BY total DESC;
"""


@dataclass(frozen=True)
class Change:
    """Lines ``first`` to ``last`` of a file, counting from 1, and what they become."""

    text: str
    first: int
    last: int
    new: str

    @property
    def old(self) -> str:
        return "\n".join(self.text.split("\n")[self.first - 1 : self.last])

    @property
    def result(self) -> str:
        lines = self.text.split("\n")
        lines[self.first - 1 : self.last] = self.new.split("\n")
        return "\n".join(lines)


CHANGES = {
    "python, a method": Change(
        PYTHON,
        14,
        20,
        """\
    def readings(self) -> list[float]:
        found = []
        with (self.folder / f"{self.number}.csv").open(newline="") as file:
            for row in csv.reader(file):
                if not row or row[0] == "day":
                    continue
                found.append(float(row[1]))
        return found""",
    ),
    "python, its doc": Change(
        PYTHON,
        22,
        24,
        '    def total(self) -> float:\n        """The sum of all readings – of a year."""\n'
        "        return sum(self.readings())",
    ),
    "python, a branch": Change(
        PYTHON,
        29,
        32,
        '    if not meter.readings():\n        print("No readings: “data” is empty.")\n'
        '        return\n    else:\n        print("total:", round(meter.total(), 2))',
    ),
    "python, blank lines within": Change(
        PYTHON,
        4,
        8,
        'from pathlib import Path\n\n\nclass Meter:\n    """A meter."""',
    ),
    "script, a loop": Change(
        SCRIPT,
        5,
        9,
        """\
      const answer = await fetch(url, { cache: 'no-store' });
      if (answer.ok) {
        return await answer.json();
      }
      console.warn(`status ${answer.status} of ${url}`);""",
    ),
    "script, the last function": Change(
        SCRIPT,
        18,
        20,
        "export function names(rows) {\n  const named = rows.filter((row) => row.name);\n"
        "  return named.map((row) => row.name);\n}",
    ),
    "script, quotes": Change(
        SCRIPT,
        14,
        16,
        '  }\n  throw new TypeError("It\'s not there.");\n}',
    ),
    "makefile, a rule": Change(
        MAKEFILE,
        9,
        14,
        "test: meter\n\tif ./meter --check --all; then \\\n\t\techo fine; \\\n\telse \\\n"
        "\t\techo broken; \\\n\t\texit 1; \\\n\tfi",
    ),
    "makefile, two rules": Change(
        MAKEFILE, 6, 9, "meter: main.o read.o\n\t$(CC) $(FLAGS) -o $@ $^ -lm\n\ntest: meter"
    ),
    "yaml, a job": Change(
        YAML,
        10,
        15,
        "  lint:\n    needs: build\n    steps:\n      - uses: checkout\n      - run: make lint\n"
        '        env:\n          STRICT: "no"',
    ),
    "yaml, the head": Change(YAML, 2, 4, "on:\n  push:\n    branches: [main, next]"),
    "prose, a list": Change(
        PROSE, 5, 7, "- “day” is the date,\n- “value” is in MWh,\n- an empty row is left out."
    ),
    "prose, a sentence": Change(
        PROSE,
        3,
        5,
        "The meter’s numbers are read twice a day – at noon – and kept for a year.\n\n"
        "- “day” is the date,",
    ),
    "query, columns": Change(
        QUERY,
        2,
        5,
        "    meter   INTEGER NOT NULL,\n    day     TEXT    NOT NULL,\n    value   REAL    NOT NULL,\n"
        "    note    TEXT,\n    PRIMARY KEY (meter, day)",
    ),
    "query, where": Change(
        QUERY,
        9,
        11,
        "  FROM reading\n WHERE day >= '2026-06-01'\n   AND value > 0\n GROUP BY meter",
    ),
}


@dataclass(frozen=True)
class Case:
    """What a model sends, and the right text after it; None where it must be refused."""

    text: str
    old: str
    new: str
    result: str | None


Way = Callable[[Change], Case | None]


def _each_line(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(change(line) if line.strip() else line for line in text.split("\n"))


def _straight(text: str) -> str:
    return text.translate(str.maketrans("“”’–\u00a0", '""\'- '))


def exact(change: Change) -> Case:
    return Case(change.text, change.old, change.new, change.result)


def whole_lines(change: Change) -> Case:
    return Case(change.text, change.old + "\n", change.new + "\n", change.result)


def windows_file(change: Change) -> Case:
    ends = change.text.replace("\n", "\r\n"), change.result.replace("\n", "\r\n")
    return Case(ends[0], change.old, change.new, ends[1])


def windows_copy(change: Change) -> Case:
    old, new = (text.replace("\n", "\r\n") for text in (change.old, change.new))
    return Case(change.text, old, new, change.result)


def trailing_blanks_in_the_copy(change: Change) -> Case:
    old = re.sub(r"(?m)(?<=\S)$", "  ", change.old)
    return Case(change.text, old, change.new, change.result)


def trailing_blanks_in_the_file(change: Change) -> Case:
    """Lines that stay keep their blanks."""
    lines = change.text.split("\n")
    after = change.result.split("\n")
    at = change.first - 1
    lines[at] += " \t"
    if after[at] + " \t" == lines[at]:
        after[at] += " \t"
    return Case("\n".join(lines), change.old, change.new, "\n".join(after))


def indented_more(change: Change) -> Case:
    pad = "\t" if change.text is MAKEFILE else "    "
    old, new = (_each_line(text, lambda line: pad + line) for text in (change.old, change.new))
    return Case(change.text, old, new, change.result)


def not_indented(change: Change) -> Case | None:
    lines = [line for line in (change.old + "\n" + change.new).split("\n") if line.strip()]
    least = min(len(line) - len(line.lstrip()) for line in lines)
    if not least:
        return None
    old, new = (_each_line(text, lambda line: line[least:]) for text in (change.old, change.new))
    return Case(change.text, old, new, change.result)


def first_line_not_indented(change: Change) -> Case | None:
    if not change.old[0].isspace() or "\n" not in change.old or "  " not in change.old:
        return None
    old = re.sub(r"(?m)(?<=[^\s])$", " ", change.old).lstrip()  # no exact copy from there on
    return Case(change.text, old, change.new.lstrip(), change.result)


def other_unit(change: Change) -> Case | None:
    """Tabs for blanks and blanks for tabs, all levels in one way."""

    def other(line: str) -> str:
        words = line.lstrip()
        width = len(line) - len(words)
        if change.text is MAKEFILE:
            return " " * 4 * width + words
        unit = 4 if change.text in (PYTHON,) else 2
        return "\t" * (width // unit) + words

    if change.text in (PROSE, QUERY) or not re.search(r"(?m)^[ \t]", change.old):
        return None
    return Case(
        change.text, _each_line(change.old, other), _each_line(change.new, other), change.result
    )


def straight_quotes(change: Change) -> Case | None:
    """The characters of the file stay where the model changed nothing."""
    if _straight(change.old) == change.old:
        return None
    return Case(change.text, _straight(change.old), _straight(change.new), change.result)


def straight_quotes_and_indented(change: Change) -> Case | None:
    case = straight_quotes(change)
    if case is None:
        return None
    old, new = (_each_line(text, lambda line: "  " + line) for text in (case.old, case.new))
    return Case(case.text, old, new, case.result)


def typographic_copy(change: Change) -> Case | None:
    old, new = (re.sub(r"'(\w)", r"’\1", text) for text in (change.old, change.new))
    return None if old == change.old else Case(change.text, old, new, change.result)


def numbered(mark: str) -> Way:
    def way(change: Change) -> Case:
        def with_numbers(text: str) -> str:
            lines = enumerate(text.split("\n"), change.first)
            return "\n".join(f"{number:>6}{mark}{line}" for number, line in lines)

        return Case(change.text, with_numbers(change.old), with_numbers(change.new), change.result)

    return way


def numbered_copy_alone(mark: str) -> Way:
    def way(change: Change) -> Case:
        case = numbered(mark)(change)
        assert case is not None
        return Case(case.text, case.old, change.new, case.result)

    return way


def numbered_without_blanks_at_line_ends(mark: str) -> Way:
    """Of an empty line the number alone is left, or its mark."""

    def way(change: Change) -> Case:
        case = numbered(mark)(change)
        assert case is not None
        old = "\n".join(line.rstrip() for line in case.old.split("\n"))
        return Case(case.text, old, change.new, case.result)

    return way


def windows_file_and_blanks(change: Change) -> Case:
    case = trailing_blanks_in_the_copy(change)
    ends = change.text.replace("\n", "\r\n"), change.result.replace("\n", "\r\n")
    return Case(ends[0], case.old, case.new, ends[1])


def there_twice(change: Change) -> Case:
    """Nobody knows which one is meant, however it was copied."""
    old = _each_line(change.old, lambda line: line + " ")
    return Case(f"{change.text}\n{change.text}", old, change.new, None)


def elided_in_the_copy(change: Change) -> Case | None:
    lines = change.old.split("\n")
    if len(lines) < 4:
        return None
    return Case(change.text, "\n".join([lines[0], "    ...", lines[-1]]), change.new, None)


def elided_in_the_new(change: Change) -> Case:
    mark = "//" if change.text is SCRIPT else "#"
    first = change.new.split("\n")[0]
    return Case(
        change.text, change.old, f"{first}\n{mark} ... rest of the code unchanged ...", None
    )


def another_word(change: Change) -> Case:
    """What is only alike is not the same."""
    words = re.findall(r"\w{4,}", change.old)
    return Case(change.text, change.old.replace(words[0], words[0] + "s"), change.new, None)


def uneven(change: Change) -> Case | None:
    """Each line is indented in its own way: nobody knows how the new ones are."""
    lines = change.old.split("\n")
    if sum(bool(line.strip()) for line in lines) < 3:
        return None
    old = "\n".join(" " * (n * 3 % 7 + 1) + line.strip() for n, line in enumerate(lines))
    return Case(change.text, old, change.new, None)


WAYS: list[Way] = [
    exact,
    whole_lines,
    windows_file,
    windows_copy,
    trailing_blanks_in_the_copy,
    trailing_blanks_in_the_file,
    windows_file_and_blanks,
    indented_more,
    not_indented,
    first_line_not_indented,
    other_unit,
    straight_quotes,
    straight_quotes_and_indented,
    typographic_copy,
    numbered("\t"),
    numbered("→"),
    numbered(": "),
    numbered("| "),
    numbered(" | "),
    numbered_copy_alone("\t"),
    numbered_copy_alone(":"),
    numbered_copy_alone("|"),
    numbered_without_blanks_at_line_ends("\t"),
    numbered_without_blanks_at_line_ends(": "),
]
TRAPS: list[Way] = [there_twice, elided_in_the_copy, elided_in_the_new, another_word, uneven]


def cases(ways: list[Way]) -> dict[str, Case]:
    """All cases by name."""
    found: dict[str, Case] = {}
    for number, way in enumerate(ways):
        for name, change in CHANGES.items():
            case = way(change)
            if case is not None:
                found[f"{name}: {number} {way.__name__}"] = case
    return found
