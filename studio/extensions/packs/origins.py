"""Origins: says where a pack is from (X-2)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, cast

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.jsonvalue import Json, JsonObject, as_object
from studio.domain.records import dataclass
from studio.domain.redaction import redact

OriginKind: TypeAlias = Literal["shipped", "distribution", "folder", "zip", "git"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a pack is from: ``wanted`` is what the person named, ``name`` one of a marketplace.

    ``commit`` is the one of git that is installed.
    """

    kind: OriginKind
    wanted: str
    name: str = ""
    address: str = ""
    commit: str = ""

    @property
    def is_in_place(self) -> bool:
        """Whether the pack's files stay where they are: others than we install and update them."""
        return self.kind in ("shipped", "distribution")

    @property
    def shown(self) -> str:
        """In one line, without passwords in addresses."""
        words = redact(self.address or self.wanted)
        commit = f", commit {self.commit[:12]}" if self.commit else ""
        market = f" ({self.name} of {redact(self.wanted)})" if self.name else ""
        return escape_line(f"{self.kind} {words}{market}{commit}", 500)

    def described(self) -> JsonObject:
        return {
            "kind": self.kind,
            "wanted": self.wanted,
            "name": self.name,
            "address": self.address,
            "commit": self.commit,
        }

    @classmethod
    def read(cls, value: Json) -> Origin:
        """From ``described``."""
        found = {key: str(one) for key, one in as_object(value).items()}
        return cls(
            cast("OriginKind", found.get("kind", "folder")),
            found.get("wanted", ""),
            found.get("name", ""),
            found.get("address", ""),
            found.get("commit", ""),
        )


@dataclass(frozen=True, slots=True)
class Brought:
    """A pack that is there without being installed here: it ships, or is a distribution."""

    origin: Origin
    folder: Path
