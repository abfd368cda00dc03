"""What the demo says about what it saw: counts, names, first lines. All of it true."""

from __future__ import annotations

import re

_HEAD = re.compile(r"\[.*\]\s*(?:More follows.*|This is your draft.*)?")
_SIZE = re.compile(r"\s{2,}\S.*$|\s->\s.*$")
_PATH = re.compile(r"[\w-][\w./-]*\.[A-Za-z]\w{0,4}\b")
_DEFINED = re.compile(r"^(?:async def|def|class) (\w+)", re.M)
_HEADINGS = re.compile(r"^#{1,3} (.+)$", re.M)
_LIKED = ("readme", "pyproject", "package.json", "main", "app", "index", "notes")
_TEXT = (
    *("md", "txt", "rst", "py", "toml", "json", "yaml", "yml", "cfg", "ini", "csv", "html"),
    *("js", "ts", "css", "sh", "c", "h", "cpp", "rs", "go", "java", "rb", "sql", "xml"),
)


def entries(listing: str) -> list[str]:
    """The names in a folder's listing; folders end in a slash."""
    rows = [_SIZE.sub("", row).strip() for row in listing.splitlines()]
    return [row for row in rows if row and not row.startswith("[") and not row.endswith("empty.")]


def files_in(listing: str) -> list[str]:
    """Text files of a listing, those first that tell most about a folder."""
    files = [name for name in entries(listing) if _is_text(name)]

    def rank(name: str) -> tuple[int, int]:
        stem = name.rpartition("/")[2].lower()
        liked = [n for n, begin in enumerate(_LIKED) if stem.startswith(begin)]
        return (liked[0] if liked else len(_LIKED), name.count("/"))

    return sorted(files, key=rank)


def paths_in(words: str) -> list[str]:
    """Text files that the person names."""
    return [path for path in _PATH.findall(words) if _is_text(path)]


def _is_text(name: str) -> bool:
    return name.rpartition(".")[2].lower() in _TEXT


def first_line(text: str) -> str:
    """The first line that is not empty."""
    return next((row.strip() for row in text.splitlines() if row.strip()), "(nothing)")


def answer(saying: str, text: str, most: int = 20) -> str:
    """A result, quoted; a long one is cut and says so."""
    rows = text.strip("\n").splitlines() or ["(nothing)"]
    cut = f"\n\nThat is the first {most} of {len(rows)} lines." if len(rows) > most else ""
    fence = "````" if "```" in text else "```"
    body = "\n".join(rows[:most])
    return f"{saying}\n\n{fence}text\n{body}\n{fence}{cut}"


def note(words: str, listing: str) -> str:
    """A note in markdown about the folder."""
    names = entries(listing)
    rows = [f"- `{name}`" for name in names[:12]]
    more = [f"- and {len(names) - 12} more"] if len(names) > 12 else []
    about = ["## In this folder", "", *rows, *more, ""] if rows else []
    return "\n".join(
        ["# Notes", "", "Written by the simulated demo.", "", f"> {first_line(words)}", "", *about]
    )


def describe(words: str, listing: str | None, read: list[tuple[str, str]]) -> str:
    """A folder and files as they are: a sentence, a table, what each file defines."""
    found: list[str] = []
    if listing is not None:
        names = entries(listing)
        folders = sum(name.endswith("/") for name in names)
        files = len(names) - folders
        found.append(
            f"This folder has **{_count(files, 'file')}** and **{_count(folders, 'folder')}**."
            + (" The first names: " if names else "")
            + ", ".join(f"`{name}`" for name in names[:6])
            + ("." if names else "")
        )
    if read:
        rows = ["| File | Lines | Begins with |", "| --- | ---: | --- |"]
        rows += [_row(path, body) for path, body in read]
        found.append("\n".join(rows))
    for path, text in read:
        kind = path.rpartition(".")[2]
        if kind == "py" and (names := _DEFINED.findall(_body(text))):
            shown = ", ".join(f"`{name}`" for name in names[:6])
            found.append(f"### {path}\n\nIt defines {shown}.")
        elif kind == "md" and (headings := _HEADINGS.findall(_body(text))):
            found.append(f"### {path}\n\n" + "\n".join(f"- {head}" for head in headings[:6]))
    return "\n\n".join(found) or f"Nothing came back for “{first_line(words)}”."


def _row(path: str, text: str) -> str:
    body = _body(text)
    begins = first_line(body)[:60].replace("|", "\\|").replace("`", "'")
    return f"| `{path}` | {len(body.splitlines())} | {begins} |"


def _body(text: str) -> str:
    """A file's text without the line above it that says which lines these are."""
    first, _, rest = text.partition("\n")
    return rest if _HEAD.fullmatch(first) else text


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
