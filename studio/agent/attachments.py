"""Attachments: converts files and pictures to blocks of a message (H-2)."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.jsonvalue import repair_surrogates
from studio.domain.messages import File, Image, Said, Text
from studio.domain.models import ModelInfo
from studio.domain.redaction import holds_secret
from studio.providers.base import Provider
from studio.providers.media import left_out_text
from studio.tools.sdk.result import size
from studio.tools.workspace import images, pdf
from studio.tools.workspace.encodings import NotText, decode
from studio.tools.workspace.folder import reason
from studio.tools.workspace.text_files import open_file

LIMIT = 20_000_000
"""Bytes of one file. Gemini takes 20 MB with a request, the others more."""
MAX_MESSAGE_BYTES = 100_000_000
"""Bytes of all files of one message; they are stored with the session."""

_ATTACHABLE = "Pictures, PDF and text files can be."
_SECRET_NAMES = {
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "id_ed25519",
    "id_rsa",
}
_SAMPLES = (".example", ".sample", ".template")
_LOOKED_AT = 1_000_000
"""Bytes of a file in which secrets are looked for."""
TYPES = {
    ".css": "text/css",
    ".csv": "text/csv",
    ".htm": "text/html",
    ".html": "text/html",
    ".ipynb": "application/json",
    ".js": "text/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".tsv": "text/tab-separated-values",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
"""Media types of texts by file extension; other texts are ``text/plain``. The table of the
system is not used: it differs between systems, and has ``video/mp2t`` for TypeScript."""
_KINDS = (
    ("a Word document", (".doc", ".docx", ".odt", ".pages")),
    ("a spreadsheet", (".xls", ".xlsx", ".ods", ".numbers")),
    ("a presentation", (".ppt", ".pptx", ".odp", ".key")),
    ("an archive", (".zip", ".gz", ".tar", ".tgz", ".7z", ".rar", ".xz", ".bz2", ".zst")),
    ("a sound file", (".mp3", ".wav", ".ogg", ".flac", ".m4a", ".opus")),
    ("a video", (".mp4", ".mov", ".mkv", ".webm", ".avi")),
    ("a database", (".db", ".sqlite", ".sqlite3", ".parquet")),
)


async def attach(path: Path) -> Image | File:
    """A file as a block: a normalised picture, an unchanged PDF, a text in UTF-8.

    The content decides the kind first, then the name. Raises ConfigurationError that
    tells the person why a file cannot be attached.
    """
    return await asyncio.to_thread(lambda: block_of(path.name, _read(path)))


async def attach_bytes(name: str, data: bytes) -> Image | File:
    """Bytes from another program as a block; raises ConfigurationError as ``attach`` does."""
    if len(data) > LIMIT:
        raise ConfigurationError(
            f"{name} has {size(len(data))}; {size(LIMIT)} is the most for one file."
        )
    return await asyncio.to_thread(block_of, name, data)


def seems_secret(block: Image | File) -> bool:
    """Whether a file seems to hold a key or a password, by its name or its text. Takes time."""
    if not isinstance(block, File) or block.media_type == "application/pdf":
        return False
    name = block.name.lower()
    if name in _SECRET_NAMES or (name.startswith(".env") and not name.endswith(_SAMPLES)):
        return True
    return holds_secret(block.data[:_LOOKED_AT].decode("utf-8", "replace"))


async def attach_picture(data: bytes, name: str = "The pasted picture") -> Image:
    """A picture as a block, as providers take it; raises ConfigurationError."""
    return await asyncio.to_thread(_picture, data, name)


def replace_unreadable(block: Said, provider: Provider, facts: ModelInfo | None) -> Said:
    """The block, or a text in its place if the model cannot read it."""
    why = provider.media_problem(block, facts)
    return Text(left_out_text(block, why)) if why and not isinstance(block, Text) else block


def check_total_size(blocks: Sequence[Said]) -> None:
    """Raise ConfigurationError if the blocks are too large for one message."""
    total = sum(len(block.data) for block in blocks if not isinstance(block, Text))
    if total > MAX_MESSAGE_BYTES:
        raise ConfigurationError(
            f"The files have {size(total)} together; a message takes {size(MAX_MESSAGE_BYTES)}."
            " Send some of them later."
        )


def repair_text(said: Sequence[Said]) -> tuple[Said, ...]:
    """The blocks with valid Unicode; a pasted text or a file name may have lone surrogates."""
    return tuple(map(_repaired, said))


def _repaired(block: Said) -> Said:
    match block:
        case Text():
            return Text(repair_surrogates(block.text))
        case File():
            return replace(block, name=repair_surrogates(block.name))
        case Image():
            return block


def block_of(name: str, data: bytes) -> Image | File:
    """Bytes as a block, see ``attach``; raises ConfigurationError. Takes time."""
    end = Path(name).suffix.lower()
    if images.format_of(data[:64]):
        return _picture(data, name)
    if pdf.is_pdf(data):
        if pdf.locked(data):
            raise ConfigurationError(
                f"{name} is locked with a password. Save it without one, then attach it again."
            )
        return File(name, "application/pdf", data)
    try:
        text, _ = decode(data, name)
    except NotText:
        kind = next((kind for kind, ends in _KINDS if end in ends), "a binary file")
        raise ConfigurationError(
            f"{name} is {kind} and cannot be attached. {_ATTACHABLE}"
        ) from None
    return File(name, TYPES.get(end, "text/plain"), text.encode())


def _read(path: Path) -> bytes:
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise ConfigurationError(f"{path.name} is a folder. Attach files, or name the folder.")
        if not stat.S_ISREG(found.st_mode):  # opening a pipe would wait for ever
            raise ConfigurationError(f"{path.name} is not an ordinary file.")
        with open_file(path) as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise ConfigurationError(f"{path.name} cannot be read: {reason(error)}.") from error
    if len(data) > LIMIT:
        length = size(max(found.st_size, len(data)))
        raise ConfigurationError(
            f"{path.name} has {length}; {size(LIMIT)} is the most for one file."
            " Name its path in the message: the agent can read parts of it."
        )
    if not data:
        raise ConfigurationError(f"{path.name} is empty.")
    return data


def _picture(data: bytes, name: str) -> Image:
    try:
        return images.normalise(data, name)
    except ToolFailed as error:
        raise ConfigurationError(str(error)) from error
