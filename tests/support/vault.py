"""A keychain in memory, in the system's place."""

from __future__ import annotations


class Vault:
    """A keychain that works, and counts how often it is read."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.reads = 0

    def get_password(self, service: str, username: str) -> str | None:
        self.reads += 1
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]
