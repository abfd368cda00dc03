"""The token of the server: one for all programs, in the keychain or nowhere (S-4)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.simulator import Text, Turn
from studio.storage.config.keychain import Keychain
from studio.storage.config.server_token import CREDENTIAL, ENTRY, VARIABLE, ServerToken
from support.running_server import running_server


class Vault:
    """A keychain in memory, which can be locked."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._open()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._open()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._open()
        del self.kept[service, username]

    def _open(self) -> None:
        if self.locked:
            raise KeyringLocked


class KeyringLocked(Exception):
    """Known by its name, as keyring's own."""


async def test_it_is_made_once_and_found_again(tmp_path: Path) -> None:
    vault = Vault()
    token = ServerToken(Keychain(backend=vault), tmp_path)
    made = await asyncio.gather(*(token.get() for _ in range(10)))
    assert len(set(made)) == 1 and made[0].startswith("as-") and len(made[0]) > 40
    assert token.kept and vault.kept == {("agent-studio", ENTRY): made[0]}
    later = ServerToken(Keychain(backend=vault), tmp_path)
    assert await later.get() == made[0]


async def test_one_that_is_renewed_elsewhere_counts_here(tmp_path: Path) -> None:
    """The old one is worth nothing from then on, also for a server that runs."""
    vault = Vault()
    here = ServerToken(Keychain(backend=vault), tmp_path / "data")
    there = ServerToken(Keychain(backend=vault), tmp_path / "data")
    first = await here.get()
    assert await there.get() == first
    second = await there.renew()
    assert second != first
    assert await here.get() == second == await there.get()
    third = await here.renew()
    assert await there.get() == third != second


async def test_a_locked_keychain_keeps_what_it_has(tmp_path: Path) -> None:
    vault = Vault()
    first = await ServerToken(Keychain(backend=vault), tmp_path).get()
    vault.locked = True
    locked = ServerToken(Keychain(backend=vault), tmp_path)
    own = await locked.get()
    assert own != first and not locked.kept and await locked.get() == own
    vault.locked = False
    assert await locked.get() == own  # for this run
    assert await ServerToken(Keychain(backend=vault), tmp_path).get() == first
    assert not [path for path in tmp_path.rglob("*") if own in path.read_text()]


async def test_a_running_server_takes_the_new_one_at_once(tmp_path: Path) -> None:
    vault = Vault()
    async with running_server(tmp_path, lambda view: Turn(Text("Hello."))) as server:
        engine = server.house.engine
        engine.keychain = keychain = Keychain(backend=vault)
        server.serving.token = ServerToken(keychain, engine.paths.data)
        old = await server.serving.token.get()
        other = ServerToken(Keychain(backend=vault), engine.paths.data)
        new = await other.renew()
        for token, status in ((old, 401), (new, 200)):
            headers = {"authorization": f"Bearer {token}"}
            assert (await server.client.get("/v1/models", headers=headers)).status_code == status


async def test_a_file_keeps_it_where_no_keychain_does(tmp_path: Path) -> None:
    """S-4: made for this person alone, and the same in the next run."""
    vault, file = Vault(), tmp_path / "keys" / "token"
    token = ServerToken(Keychain(backend=vault), tmp_path, file=file)
    made = await token.get()
    assert token.kept and token.given == str(file) and not vault.kept
    assert file.stat().st_mode & 0o777 == 0o600 and file.read_text().strip() == made
    other = ServerToken(Keychain(backend=vault), tmp_path, file=file)
    assert await other.get() == made
    renewed = await other.renew()
    assert renewed != made and await token.get() == renewed


async def test_a_token_that_others_may_read_is_none(tmp_path: Path) -> None:
    file = tmp_path / "token"
    token = ServerToken(Keychain(backend=Vault()), tmp_path, file=file)
    await token.get()
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(ConfigurationError, match="chmod 600"):
            await token.get()
    file.chmod(0o600)
    file.write_text("too short")
    with pytest.raises(ConfigurationError, match="at least 16"):
        await token.get()
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ConfigurationError, match="no file"):
        await token.get()


async def test_it_may_be_given_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable comes before a credential of systemd, and a file that is named before both."""
    (tmp_path / CREDENTIAL).write_text("of-systemd-0123456789\n")
    (tmp_path / CREDENTIAL).chmod(0o440)  # as systemd makes it
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))

    def token(file: Path | None = None) -> ServerToken:
        return ServerToken(Keychain(backend=Vault()), tmp_path, file=file)

    assert await token().get() == "of-systemd-0123456789"
    monkeypatch.setenv(VARIABLE, "of-the-variable-0123456789")
    given = token()
    assert await given.get() == "of-the-variable-0123456789" and given.given == VARIABLE
    with pytest.raises(ConfigurationError, match=VARIABLE):
        await given.renew()
    assert (await token(tmp_path / "own").get()).startswith("as-")


async def test_a_file_that_others_may_read_lets_nobody_in(tmp_path: Path) -> None:
    """A stranger does not hear where it is."""
    file = tmp_path / "token"
    async with running_server(tmp_path, lambda view: Turn(Text("Hello."))) as server:
        keychain = server.house.engine.keychain
        server.serving.token = ServerToken(keychain, tmp_path, file=file)
        headers = {"authorization": f"Bearer {await server.serving.token.get()}"}
        assert (await server.client.get("/v1/models", headers=headers)).status_code == 200
        file.chmod(0o644)
        answer = await server.client.get("/v1/models", headers=headers)
        assert answer.status_code == 500 and str(file) not in answer.text
