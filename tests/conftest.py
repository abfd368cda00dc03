"""Every test has a home of its own and meets no key, no keychain, no display of the person's."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from execnet import XSpec
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from support import fork_server, nightly
from support.cold_caches import fill_caches
from support.fast import has_fast, is_fast, nothing_is_started
from support.hang_guard import PATIENCE, HangGuard
from support.waiting import HANG
from support.worker_server import start_worker_server

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from studio.providers.http import Http

# The same examples each time: what is new is explored at night, not while somebody waits.
# How long that takes is no verdict.
settings.register_profile(
    "default",
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    nightly.PROFILE,
    max_examples=nightly.EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(PROFILE)
if PROFILE == "default":
    # Hypothesis takes constants from the source of all modules loaded so far. The examples would
    # depend on the tests that ran before, and each process would parse the whole program for them.
    providers._get_local_constants = lambda: providers._local_constants

if sys.platform.startswith("linux") and not (
    os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
):
    # The screen is as large as a person's: windows are made to fit it.
    screen = Path(__file__).parent / "support" / "screen.json"
    os.environ.setdefault("QT_QPA_PLATFORM", f"offscreen:configfile={screen}")

KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "OLLAMA_HOST",
)
AUTHORITY = Path(__file__).parent / "support" / "authority.pem"
"""A certificate whose key nobody has. No test goes beyond this computer, and the system's hundred
and fifty take 30 ms to read, several times in each house."""


MEMORY = Path("/dev/shm")
if (
    MEMORY.is_dir()
    and os.access(MEMORY, os.W_OK)
    and shutil.disk_usage(MEMORY).free > 2_000_000_000
):
    # The folders of tests lie in memory: a disk syncs for half of the time of a test that stores.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_STUDIO_HOME", str(tmp_path / "studio"))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "disabled:")
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def qapp_cls() -> type[QApplication]:
    """The application of tests with a window is the program's own."""
    from studio.ui.app.application import StudioApplication

    return StudioApplication


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    from studio.providers.http import Http

    http = Http(connect_seconds=HANG, read_seconds=HANG)
    yield http
    await http.aclose()


RECORDINGS = Path(__file__).parent.parent.parent / "shared" / "recordings"


@pytest.hookimpl(tryfirst=True)  # Hypothesis reads the seed; workers get it with the options
def pytest_configure(config: pytest.Config) -> None:
    config.option.hypothesis_seed = nightly.seed_of(config.option.hypothesis_seed, PROFILE)
    if sys.platform != "win32":
        # Under nohup, or in the background of a script, our commands would ignore these.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        config.pluginmanager.register(HangGuard(10_000.0 if PROFILE != "default" else PATIENCE))
    config.addinivalue_line("markers", "recordings: replays exchanges recorded from real servers")
    config.addinivalue_line("markers", "long: takes many seconds, and so comes first")
    config.addinivalue_line("markers", "fast: needs no Qt, process or socket; see support/fast.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[XSpec]) -> None:
    """What each worker would do for itself is done once, before they start."""
    if sys.platform != "linux" or config.getoption("markexpr"):
        return
    if not config.getoption("file_or_dir"):
        fill_caches(constants=PROFILE != "default")
    asked = [Path(one.partition("::")[0]).absolute() for one in config.args]
    files = {file for one in asked for file in (one, *one.rglob("*")) if file.match("test_*.py")}
    worker = start_worker_server(sorted(files))
    specs[:] = [XSpec(f"{spec}//python={worker}") for spec in specs]
    fork_server.share()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are no garbage: they are looked through neither now nor in each test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only fast tests are asked for, files without one are not even imported."""
    if config.getoption("markexpr") != "fast" or not collection_path.name.startswith("test_"):
        return None
    return True if not has_fast(collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A fast test starts no process, opens no socket, imports no Qt."""
    if not _is_fast(item):
        return (yield)
    with nothing_is_started() as started:
        result = yield
    assert not started, f"not fast: it starts {started[0]}"
    return result


def _is_fast(item: pytest.Item) -> bool:
    return (
        isinstance(item, pytest.Function)
        and item.cls is None
        and is_fast(item.path, item.originalname)
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests come first: the end of a run is to wait for none of them.

    The recordings are kept beside the project, not in it; without them nothing is replayed.
    """
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items:
        if config.getoption("markexpr") and _is_fast(item):  # else each test is looked at in turn
            item.add_marker("fast")
    if RECORDINGS.is_dir():
        return
    replays = [item for item in items if item.get_closest_marker("recordings")]
    items[:] = [item for item in items if item not in replays]
    config.hook.pytest_deselected(items=replays)


def pytest_report_header(config: pytest.Config) -> list[str]:
    seed = config.option.hypothesis_seed
    said = [nightly.words_about(seed)] if seed is not None else []
    if RECORDINGS.is_dir():
        return said
    return [
        *said,
        f"No recorded exchanges at {RECORDINGS}: the tests that replay them are left out.",
    ]
