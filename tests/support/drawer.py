"""A keychain for the tests: like one of a system, in memory, named by PYTHON_KEYRING_BACKEND."""

from __future__ import annotations

from keyring.backend import KeyringBackend

NAME = "support.drawer.Drawer"
KEPT: dict[tuple[str, str], str] = {}


class Drawer(KeyringBackend):
    """What is kept in it is in ``KEPT``, by service and name."""

    priority = 9.0  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        return KEPT.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        KEPT[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del KEPT[service, username]
