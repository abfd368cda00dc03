"""P-4: keys live in the system's keychain, or in memory, and the program never hangs on it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from keyring.errors import InitError, KeyringLocked, NoKeyringError

from studio.domain.errors import ConfigurationError
from studio.processes.environment import child_environment
from studio.storage.config.keychain import Keychain, KeychainUnavailable
from support.vault import Vault
from support.waiting import HANG, until

ROOT = Path(__file__).parents[3]
KEY = "sk-ant-0123456789"
UNLOCKED = (
    'printf %s testpw | gnome-keyring-daemon --unlock --components=secrets >/dev/null; exec "$@"'
)
WAIT_FOR_SERVICE = f"""
import time, secretstorage
end = time.monotonic() + {HANG}
while True:
    bus = secretstorage.dbus_init()
    there = secretstorage.check_service_availability(bus)
    bus.close()
    if there: break
    assert time.monotonic() < end, "no secret service came up"
    time.sleep(0.02)
"""
FROZEN_SERVICE = """
import subprocess, sys
from jeepney.io.blocking import open_dbus_connection
from jeepney.bus_messages import message_bus
bus = open_dbus_connection()
bus.send_and_get_reply(message_bus.RequestName("org.freedesktop.secrets"))
sys.exit(subprocess.run(sys.argv[1:]).returncode)  # and answers nobody meanwhile
"""


class Broken(Vault):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def get_password(self, service: str, username: str) -> str | None:
        self.reads += 1
        raise self.error

    def set_password(self, service: str, username: str, password: str) -> None:
        raise self.error


class Frozen(Vault):
    """Answers nothing before ``thaw`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.thaw = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.thaw.wait()
        return super().get_password(service, username)


@pytest.fixture(autouse=True)
def no_keys_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


async def test_a_key_is_kept_read_once_and_deleted() -> None:
    vault = Vault()
    keychain = Keychain(backend=vault)
    assert await keychain.get("anthropic") is None and keychain.source("anthropic") == ""
    assert await keychain.set("anthropic", f" {KEY}\n") == "keychain"
    assert vault.kept == {("agent-studio", "anthropic"): KEY}
    assert keychain.source("anthropic") == "keychain" and keychain.status == "ready"

    again = Keychain(backend=vault)
    vault.reads = 0
    assert [await again.get("anthropic") for _ in range(3)] == [KEY] * 3
    assert vault.reads == 1

    await again.delete("anthropic")
    await again.delete("anthropic")
    assert vault.kept == {} and await again.get("anthropic") is None
    with pytest.raises(ConfigurationError, match="empty"):
        await again.set("anthropic", "  ")


async def test_its_thread_ends_with_it_and_a_later_call_starts_another() -> None:
    def threads() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name == "keychain"]

    before = threads()
    keychain = Keychain(backend=Vault())
    for _ in range(2):
        await keychain.get("anthropic")
        await keychain.set("anthropic", KEY)
        (thread,) = set(threads()) - set(before)
        keychain.close()
        await asyncio.to_thread(thread.join, HANG)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NoKeyringError(), "none"),
        (KeyringLocked(), "locked"),
        (InitError(), "locked"),
        (RuntimeError(f"odd {KEY}"), "failed"),
    ],
)
async def test_without_a_keychain_the_person_chooses_the_session(
    error: Exception, status: str
) -> None:
    vault = Broken(error)
    keychain = Keychain(backend=vault)
    with pytest.raises(KeychainUnavailable) as raised:
        await keychain.set("openai", KEY)
    assert raised.value.status == keychain.status == status
    assert "this session only" in str(raised.value) and KEY not in str(raised.value)
    assert keychain.problem and keychain.source("openai") == ""
    assert await keychain.get("openai") is None, "nothing is kept without the choice"

    assert keychain.keep_for_session("openai", KEY) == "session"
    assert await keychain.get("openai") == KEY and keychain.source("openai") == "session"
    assert KEY not in repr(keychain) and vault.kept == {}

    reads = vault.reads
    await keychain.get("gemini")
    assert vault.reads == reads, "a locked keychain would ask the person again and again"


async def test_the_environment_is_a_fallback_and_shown_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "from-google")
    names = {"gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY")}
    keychain = Keychain(backend=Broken(NoKeyringError()), variables=names)
    assert await keychain.get("gemini") == "from-google"
    assert keychain.source("gemini") == "environment"
    monkeypatch.setenv("GEMINI_API_KEY", " first ")
    assert keychain.environment_key("gemini") == "first"
    assert keychain.environment_key("nobody") is None

    vault = Vault()
    vault.kept["agent-studio", "gemini"] = KEY
    keychain = Keychain(backend=vault, variables=names)
    assert await keychain.get("gemini") == KEY and keychain.source("gemini") == "keychain"


async def test_a_frozen_keychain_is_given_up_and_its_late_answer_still_counts() -> None:
    vault = Frozen()
    vault.kept["agent-studio", "openai"] = KEY
    keychain = Keychain(deadline=0.1, backend=vault)
    assert await keychain.get("openai") is None
    assert keychain.status == "silent" and "does not answer" in keychain.problem
    await until(lambda: time.monotonic() - (keychain._busy_since or 0.0) > 0.1)
    for _ in range(20):  # it stays stuck: later calls do not wait
        later = keychain.set("anthropic", "other")
        with pytest.raises(KeychainUnavailable):
            later.send(None)
    keychain.keep_for_session("anthropic", "mine")

    vault.thaw.set()
    while True:
        try:
            await keychain.set("gemini", "new")
            break
        except KeychainUnavailable:
            await asyncio.sleep(0.005)
    assert await keychain.get("openai") == KEY
    assert await keychain.get("anthropic") == "mine"
    assert ("agent-studio", "anthropic") not in vault.kept, "given up means not stored later"


async def test_a_real_child_gets_none_of_our_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """PRE-16, P-4: whatever the variable is called, and wherever in it the key stands."""
    keychain = Keychain(backend=Vault())
    await keychain.set("openai", "one-of-a-kind-1")
    keychain.keep_for_session("brave", "one-of-a-kind-2")
    keychain.keep_for_session("short", "on")
    given = {
        "LEAK": "one-of-a-kind-1",
        "HEADERS": '{"x": "Bearer one-of-a-kind-2"}',
        "DATABASE": "postgres://ada:hunter2@db/x",
        "HTTPS_PROXY": "http://ada:hunter2@proxy:8080",
        "INDEX": "https://ghp_0123456789@host/simple",
        "KEPT": "https://host/a@b:c",
        "KEPT_TOO": "on and on",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SOME_API_KEY", "anything")
    seen = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"],
        env=child_environment(secrets=keychain.known()),
        capture_output=True,
        check=True,
    )
    environment = json.loads(seen.stdout)
    assert {name for name in given if name in environment} == {"KEPT", "KEPT_TOO"}
    assert "SOME_API_KEY" not in environment
    assert not [one for one in ("one-of-a-kind", "hunter2") if one.encode() in seen.stdout]


# --- the real thing ---------------------------------------------------------------------------


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody with a home of their own and no session bus yet."""
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    yield {
        "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": str(run), "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"), "PYTHONPATH": str(ROOT),
    }  # fmt: skip


def run(desk: dict[str, str], script: str, shell: str | None = None) -> dict[str, object]:
    """Run ``script`` in a process of its own; with ``shell``, on a session bus of its own."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(script)]
    if shell is not None:
        command = ["dbus-run-session", "--", "sh", "-c", shell, "sh", *command]
    done = subprocess.run(command, env=desk, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_real_secret_service_keeps_keys_between_programs(desk: dict[str, str]) -> None:
    found = run(
        desk,
        WAIT_FOR_SERVICE
        + textwrap.dedent("""
        import asyncio, json
        from studio.storage.config.keychain import Keychain
        async def main():
            first, second, third = Keychain(), Keychain(), Keychain()
            out = {"before": await first.get("anthropic")}
            out["kept"] = await first.set("anthropic", "sk-äöü-1")
            out["read"] = await second.get("anthropic")
            out["source"] = second.source("anthropic")
            await second.delete("anthropic")
            out["after"] = await third.get("anthropic")
            out["status"] = third.status
            print(json.dumps(out))
        asyncio.run(main())
        """),
        UNLOCKED,
    )
    assert found == {
        "before": None, "kept": "keychain", "read": "sk-äöü-1", "source": "keychain",
        "after": None, "status": "ready",
    }  # fmt: skip
    for path in Path(desk["HOME"]).rglob("*"):
        assert not path.is_file() or b"sk-" not in path.read_bytes()


WITHOUT = """
import asyncio, json, time
from studio.storage.config.keychain import Keychain, KeychainUnavailable
async def main():
    keychain = Keychain(deadline=DEADLINE)
    out = {}
    try:
        out["kept"] = await keychain.set("openai", "sk-1")
    except KeychainUnavailable as error:
        out["error"] = error.status
    out["read"] = await keychain.get("openai")
    keychain.keep_for_session("openai", "sk-1")
    out["then"] = await keychain.get("openai")
    print(json.dumps(out))
asyncio.run(main())
"""
PATIENT = WITHOUT.replace("DEADLINE", str(HANG))  # a busy computer is not a silent keychain


def test_no_other_program_runs_to_find_the_keychain(desk: dict[str, str]) -> None:
    """Elsewhere than on macOS keyring has compilers look for Apple's libraries."""
    script = """
        import asyncio, json, sys
        from studio.storage.config.keychain import Keychain
        begun = []
        sys.addaudithook(lambda name, _: begun.append(name) if name == "subprocess.Popen" else None)
        keychain = Keychain(deadline=60)
        asyncio.run(keychain.get("ollama"))
        print(json.dumps({"begun": begun, "status": keychain.status}))
    """
    assert run(desk, script) == {"begun": [], "status": "none"}


def test_no_session_bus_is_no_keychain(desk: dict[str, str]) -> None:
    assert run(desk, PATIENT) == {"error": "none", "read": None, "then": "sk-1"}


def test_a_backend_that_forgets_or_writes_plain_files_is_no_keychain(desk: dict[str, str]) -> None:
    desk["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    assert run(desk, PATIENT) == {"error": "none", "read": None, "then": "sk-1"}


def test_a_locked_keychain_without_a_screen(desk: dict[str, str]) -> None:
    shell = 'gnome-keyring-daemon --start --components=secrets >/dev/null; exec "$@"'
    found = run(desk, WAIT_FOR_SERVICE + PATIENT, shell)
    assert found == {"error": "locked", "read": None, "then": "sk-1"}


def test_a_frozen_secret_service_does_not_keep_the_program_from_ending(
    desk: dict[str, str], tmp_path: Path
) -> None:
    service = tmp_path / "frozen.py"
    service.write_text(FROZEN_SERVICE)
    desk["FROZEN"] = str(service)
    shell = f'exec {sys.executable} "$FROZEN" "$@"'
    found = run(desk, WITHOUT.replace("DEADLINE", "1"), shell)
    assert found == {"error": "silent", "read": None, "then": "sk-1"}
