"""Settings and first run, with real providers against the strict simulator."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from keyring.errors import NoKeyringError
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from studio.app import build
from studio.domain.models import ModelInfo
from studio.providers import local_model
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.base import Provider
from studio.providers.catalogue import Catalogue
from studio.providers.http import Http
from studio.providers.local_model import WEIGHTS
from studio.providers.ollama.adapter import OllamaProvider
from studio.providers.registry import KEY_VARIABLES, PROVIDERS
from studio.simulator import Simulator
from studio.storage.config.keychain import Keychain
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.ui.formatting import context_size, price
from studio.ui.pages.first_run import FirstRun
from studio.ui.settings.dialog import SettingsDialog
from studio.ui.settings.key_row import masked, provider_of_key
from studio.ui.settings.pages.provider_models import ModelList, abilities, mark
from studio.ui.settings.registry import PAGES, SettingsServices
from studio.ui.theme import Theme
from studio.ui.widgets import Label
from support.pixels import pixels
from support.waiting import HANG, within

SHOWN = ("general", "providers", "budgets", "appearance")
KEY = "sk-ant-good-0123456789-7Q4A"
BAD = "bad-key-0123456789"


class Memory:
    """A system keychain."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[username]


class Missing:
    """A computer without one."""

    def get_password(self, service: str, username: str) -> str | None:
        raise NoKeyringError

    set_password = delete_password = get_password  # type: ignore[assignment]  # all fail alike


@dataclass
class Room:
    dialog: SettingsDialog
    file: SettingsFile
    keychain: Keychain
    catalogue: Catalogue
    simulator: Simulator


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    made = Theme("light")
    made.apply(qapp)
    yield made
    made.set("system")
    made.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator([]) as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    made = Http(connect_seconds=HANG, read_seconds=HANG)
    yield made
    await made.aclose()


async def until(condition: Callable[[], object]) -> None:
    """Let Qt and asyncio work until something holds."""
    async with within():
        while not condition():
            QApplication.processEvents()
            await asyncio.sleep(0.005)


@pytest.fixture(params=[Memory])
async def room(
    request: pytest.FixtureRequest,
    theme: Theme,
    qtbot: QtBot,
    tmp_path: Path,
    simulator: Simulator,
    http: Http,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Room]:
    for names in KEY_VARIABLES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)

    def make(name: str, key: str, base_url: str) -> Provider:
        if name == "anthropic":
            return AnthropicProvider(key, simulator.url("anthropic"), http)
        return OllamaProvider(key, "http://127.0.0.1:9", http)

    file = SettingsFile(tmp_path / "settings.json")
    keychain = Keychain(backend=request.param(), variables=KEY_VARIABLES)
    built_in = {"anthropic": [ModelInfo("built-in-only", "Built-in only")]}
    catalogue = Catalogue(tmp_path / "models.json", built_in, debounce=0.05)
    engine = await build(Paths.below(tmp_path / "studio"), file)
    engine.keychain = engine.providers._keychain = keychain
    services = SettingsServices(
        file=file,
        keychain=keychain,
        catalogue=catalogue,
        make_provider=make,
        engine=engine,
        chat=None,  # these pages have nothing to do with the chat and the server
        server=None,
        snapshot_date="12 May",
    )
    dialog = SettingsDialog(theme, services, pages=[one for one in PAGES if one.key in SHOWN])
    qtbot.addWidget(dialog)
    yield Room(dialog, file, keychain, catalogue, simulator)
    await dialog.aclose()
    await catalogue.close()
    await engine.close()


async def test_p3_a_typed_key_is_tried_and_only_kept_when_saved(room: Room) -> None:
    room.dialog.open_page("providers", "anthropic")
    section = room.dialog.pages["providers"].sections["anthropic"]
    assert section.key is not None
    await until(lambda: section._loaded)
    assert "No key" in section.head.accessibleName()
    section.key.entry.setText(KEY)
    await until(lambda: room.catalogue.listing("anthropic").state == "ready")
    assert len(section.models.shown.models) > 1
    assert await room.keychain.get("anthropic") is None
    room.file.values.default_provider = "simulator"  # the demo was chosen to look around
    QTest.keyClick(section.key.entry, Qt.Key.Key_Return)
    await until(lambda: section.key is not None and section.key.key == KEY)
    assert section.key.shown.text() == "sk-ant-••••••••••••••7Q4A"
    await until(lambda: "Key works" in section.head.accessibleName())
    assert room.keychain.source("anthropic") == "keychain"
    assert section.note.text() == "New chats use Anthropic now." and section.note.isVisible()
    await until(lambda: len(room.dialog._tasks) == 0)  # all of it is saved
    assert json.loads(room.file.path.read_text())["default_provider"] == "anthropic"
    for file in room.file.path.parent.rglob("*"):
        assert file.is_dir() or KEY.encode() not in file.read_bytes()


async def test_p3_a_failure_says_why_and_shows_the_built_in_list(room: Room) -> None:
    room.dialog.open_page("providers", "anthropic")
    section = room.dialog.pages["providers"].sections["anthropic"]
    assert section.key is not None
    section.key.entry.setText(BAD)
    await until(lambda: room.catalogue.listing("anthropic").state == "failed")
    assert section.failure.isVisible()
    assert "built-in list from 12 May" in section.failure.reason.text()
    assert BAD not in section.failure.reason.text()
    assert [model.id for model in section.models.shown.models] == ["built-in-only"]


@pytest.mark.parametrize("room", [Missing], indirect=True)
async def test_p4_without_a_keychain_the_person_may_keep_a_key_for_the_session(room: Room) -> None:
    room.dialog.open_page("providers", "anthropic")
    section = room.dialog.pages["providers"].sections["anthropic"]
    row = section.key
    assert row is not None
    row.entry.setText(KEY)
    row.save.click()
    await until(lambda: row.session.isVisible())
    assert row.key == "" and row.entry.text() == KEY  # nothing typed is lost
    row.session.click()
    assert row.key == KEY and room.keychain.source("anthropic") == "session"
    assert row.source.accessibleName() == "This session only"
    await until(lambda: room.catalogue.listing("anthropic").state == "ready")


async def test_p4_a_key_of_the_environment_is_shown_as_such(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    room.dialog.open_page("providers", "anthropic")
    row = room.dialog.pages["providers"].sections["anthropic"].key
    assert row is not None
    await until(lambda: row.key == KEY)
    assert row.source.accessibleName() == "From environment"
    assert not row.remove.isEnabled() and row.remove.toolTip() == "Set by ANTHROPIC_API_KEY"


async def test_a_key_is_removed_after_a_question(room: Room, qtbot: QtBot) -> None:
    await room.keychain.set("anthropic", KEY)
    room.dialog.open_page("providers", "anthropic")
    row = room.dialog.pages["providers"].sections["anthropic"].key
    assert row is not None
    await until(lambda: row.key == KEY)
    row.remove.click()
    box = room.dialog.findChild(QMessageBox)
    assert box is not None and "7Q4A" in box.informativeText()
    button = next(b for b in box.buttons() if b.text() == "Remove")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    await until(lambda: row.key == "")
    assert row.entry.isVisible()


async def test_models_are_chosen_and_added_and_saved(room: Room) -> None:
    await room.keychain.set("anthropic", KEY)
    changes: list[int] = []
    room.dialog.open_page("providers", "anthropic")
    section = room.dialog.pages["providers"].sections["anthropic"]
    section.changed.connect(lambda: changes.append(1))
    await until(lambda: room.catalogue.listing("anthropic").state == "ready")
    ids = [model.id for model in section.models.shown.models]
    section.models.clicked.emit(section.models.shown.index(0))
    assert room.file.values.enabled_models["anthropic"] == ids[1:]
    section.models.clicked.emit(section.models.shown.index(0))
    assert "anthropic" not in room.file.values.enabled_models
    room.dialog.theme.set(scale=1.6)  # words stay beside the middle of their fields
    word = next(one for one in section.body.findChildren(Label) if one.text() == "Default model")
    await until(lambda: word.geometry().center().y() == section.default.geometry().center().y())
    room.dialog.theme.set(scale=1.0)
    section.own.setText("my-own-model")
    QTest.keyClick(section.own, Qt.Key.Key_Return)
    assert "my-own-model" in [model.id for model in section.models.shown.models]
    section.default.chosen.emit("my-own-model")
    assert len(changes) == 4
    await room.dialog.aclose()
    saved = json.loads(room.file.path.read_text())
    assert saved["default_model"] == {"anthropic": "my-own-model"}
    assert saved["own_models"] == {"anthropic": ["my-own-model"]}


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    return "http://127.0.0.1:9"


async def test_an_address_of_the_environment_is_shown(elsewhere: str, room: Room) -> None:
    """The vendor's own must not stand where messages go elsewhere."""
    room.dialog.open_page("providers", "anthropic")
    url = room.dialog.pages["providers"].sections["anthropic"].url
    assert url is not None and url.text() == ""
    assert url.placeholderText() == elsewhere
    assert url.toolTip() == "Set by ANTHROPIC_BASE_URL"


async def test_an_address_must_be_one(room: Room) -> None:
    room.dialog.open_page("providers", "openai-compatible")
    url = room.dialog.pages["providers"].sections["openai-compatible"].url
    assert url is not None
    url.setText("localhost:8000")
    url.editingFinished.emit()
    assert url.error and not room.file.values.base_urls
    url.setText("http://127.0.0.1:9/v1")
    url.editingFinished.emit()
    assert not url.error
    assert room.file.values.base_urls == {"openai-compatible": "http://127.0.0.1:9/v1"}


async def test_larger_text_and_back_leaves_the_settings_as_large_as_before(room: Room) -> None:
    for page in ("general", "providers", "appearance"):
        room.dialog.open_page(page)
    room.dialog.resize(1300, 900)  # larger text has no room for as much
    before, least = room.dialog.size(), room.dialog.minimumWidth()
    room.dialog.theme.set(scale=1.6)
    await until(lambda: room.dialog.minimumWidth() > least)
    room.dialog.theme.set(scale=1.0)
    await until(lambda: room.dialog.size() == before)


async def test_general_settings_apply_at_once_and_are_saved(room: Room, theme: Theme) -> None:
    room.dialog.open_page("general")
    room.dialog.pages["appearance"].themes.segment(2).click()
    assert theme.dark
    room.dialog.pages["appearance"].size_combo.chosen.emit("130")
    assert theme.scale == 1.3
    assert not room.dialog.grab().isNull()
    await room.dialog.aclose()
    saved = json.loads(room.file.path.read_text())
    assert (saved["theme"], saved["text_size"]) == ("dark", 130)
    theme.set(scale=1.0)


async def test_w9_what_begins_at_login_is_switched_once_at_a_time(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W-9: of two changes at once either could be the last, whatever the switch shows."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", str(tmp_path))  # where nothing begins it now
    toggle = room.dialog.pages["general"].desktop.at_login
    toggle.click()
    assert not toggle.isEnabled()
    await until(toggle.isEnabled)
    assert toggle.isChecked() and any((tmp_path / "config").rglob("agent-studio-watch.*"))
    toggle.click()
    await room.dialog.aclose()
    assert not [one for one in (tmp_path / "config").rglob("*") if one.is_file()]


async def test_l14_limits_are_typed_shown_with_their_units_and_saved(room: Room) -> None:
    room.dialog.open_page("budgets")
    room.dialog.open_page("general")
    limits, values = room.dialog.pages["general"].limits, room.file.values
    fields = limits.fields | room.dialog.pages["budgets"].caps.fields
    shown = {name: field.text() for name, field in fields.items()}
    assert shown["inline_steps"] == "5 steps" and shown["turn_dollars"] == "$5.00"
    assert shown["session_tokens"] == shown["requests_per_hour"] == "No limit"
    for name, typed, value, after in (
        ("inline_steps", "8", 8, "8 steps"),
        ("background_seconds", "240 s", 240.0, "240 s"),
        ("session_tokens", "1.5M", 1_500_000, "1,500,000 tokens"),
        ("day_dollars", "", 0.0, "No limit"),
    ):
        field = fields[name]
        field.setText(typed)
        field.editingFinished.emit()
        kept = getattr(values, name)
        assert (kept, type(kept), field.text()) == (value, type(value), after)
    for name, typed in (("inline_steps", "0"), ("inline_steps", "many"), ("turn_tokens", "1e99")):
        field = fields[name]
        field.setText(typed)
        field.editingFinished.emit()
        assert field.error and getattr(values, name) in (8, 0)
    limits.toggles["notify"].click()
    limits.toggles["summarise"].click()
    traces = room.dialog.pages["general"].traces
    traces.endpoint.setText("collector")
    traces.endpoint.editingFinished.emit()
    assert traces.endpoint.error and not values.trace_endpoint and not traces.content.isEnabled()
    traces.endpoint.setText("http://127.0.0.1:4318/v1/traces")
    traces.endpoint.editingFinished.emit()
    traces.content.click()
    await room.dialog.aclose()
    saved = json.loads(room.file.path.read_text())
    assert (saved["inline_steps"], saved["day_dollars"], saved["notify"]) == (8, 0.0, False)
    assert saved["summarise"] is False
    assert saved["trace_endpoint"].endswith(":4318/v1/traces") and saved["trace_content"]


@dataclass
class Start:
    page: FirstRun
    added: list[str]
    keychain: Keychain


@pytest.fixture(params=[Memory])
async def start(
    request: pytest.FixtureRequest, theme: Theme, qtbot: QtBot, simulator: Simulator, http: Http
) -> Start:
    keychain = Keychain(backend=request.param(), variables=KEY_VARIABLES)

    async def test_key(name: str, key: str) -> None:
        await AnthropicProvider(key, simulator.url("anthropic"), http).models()

    async def keep_key(name: str, key: str, session_only: bool) -> None:
        if session_only:
            keychain.keep_for_session(name, key)
        else:
            await keychain.set(name, key)

    page = FirstRun(theme, test_key, keep_key)
    qtbot.addWidget(page)
    page.resize(900, 700)
    page.show()
    added: list[str] = []
    page.chosen.connect(added.append)
    return Start(page, added, keychain)


async def test_the_first_page_answers_to_its_keys(start: Start) -> None:
    page, told = start.page, start.added
    page.set_ollama("Found, 3 models")
    QTest.keyClick(page, Qt.Key.Key_1)
    QTest.keyClick(page, Qt.Key.Key_3)
    page._start.builtin.click()
    assert told == ["simulator", "ollama", "builtin"]
    assert page._start.ollama.accessibleName().startswith("Connect Ollama, Found, 3 models")
    QTest.keyClick(page, Qt.Key.Key_2)
    assert page._page.isVisible()
    QTest.keyClick(page, Qt.Key.Key_Escape)
    assert page._start.isVisible()


@pytest.mark.parametrize("without_weights", [False, True])
async def test_p1_the_first_page_offers_no_model_that_nothing_here_runs(
    theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, without_weights: bool
) -> None:
    """P-1: the light package has no engine, another perhaps no model for it; the keys go past what is not there."""
    without = replace(PROVIDERS["builtin"], ready=False)
    if without_weights:
        monkeypatch.setitem(sys.modules, WEIGHTS, None)
    else:
        monkeypatch.setattr(local_model, "PROVIDER", without)

    async def nothing(*_: object) -> None:
        raise AssertionError

    page = FirstRun(theme, nothing, nothing)
    qtbot.addWidget(page)
    page.show()
    start = page._start
    assert start.builtin.isHidden() and not start.ollama.isHidden()
    told = " ".join(one.text() for one in start.findChildren(Label) if one.isVisible())
    assert "Works offline" not in told and "Your chats stay" in told
    start.ollama.setFocus()
    QTest.keyClick(page, Qt.Key.Key_Down)
    assert page.focusWidget() is start.ollama


async def test_a_pasted_key_is_recognised_tried_and_kept(start: Start) -> None:
    start.page.show_key_page()
    start.page._page.field.setText(KEY)
    assert start.page._page.status.accessibleName() == "Anthropic key"
    QTest.keyClick(start.page._page.field, Qt.Key.Key_Return)
    await until(lambda: start.added == ["anthropic"])
    assert await start.keychain.get("anthropic") == KEY
    assert start.page._page.field.text() == ""


async def test_a_rejected_key_stays_in_its_field(start: Start) -> None:
    start.page.show_key_page()
    field = start.page._page.field
    field.setText(BAD)
    assert not start.page._page.add.isEnabled()  # nobody's prefix
    start.page._page.provider.set_current("anthropic")
    start.page._add()
    await until(lambda: field.error)
    assert field.text() == BAD and BAD not in start.page._page.error.text()
    assert not start.added


@pytest.mark.parametrize("start", [Missing], indirect=True)
async def test_p4_the_first_key_may_stay_in_memory(start: Start) -> None:
    start.page.show_key_page()
    page = start.page._page
    page.field.setText(KEY)
    page.add.click()
    await until(lambda: page.session.isVisible() and page.session.isEnabled())
    page.session.click()
    await until(lambda: start.added == ["anthropic"])
    assert start.keychain.source("anthropic") == "session"


def test_words_on_keys_and_prices() -> None:
    assert [provider_of_key(key) for key in ("sk-ant-x", " sk-proj-x", "AIzax", "sk-or-x", "x")] == [
        "anthropic", "openai", "gemini", "", "",
    ]  # fmt: skip
    assert masked("short") == "•" * 14
    assert masked(KEY).endswith("7Q4A") and "good" not in masked(KEY)
    assert [context_size(n) for n in (None, 200_000, 1_048_576, 1_500_000)] == [
        "",
        "200k",
        "1M",
        "1.5M",
    ]
    assert (price(3, 15), price(0.3, 2.5), price(None, 1)) == ("$3 / $15", "$0.30 / $2.50", "")
    assert price(0.075, 0.005) == "$0.075 / $0.005"


def test_p5_what_a_list_says_of_a_model() -> None:
    able = ModelInfo("m", images=True, documents=True, tools=True, reasoning=True)
    assert abilities(able) == "reads pictures and PDF, calls tools, thinks"
    assert abilities(ModelInfo("m", images=True, tools=False)) == "reads pictures"
    assert abilities(ModelInfo("m")) == ""
    assert mark(ModelInfo("m", source="yours")) == "Yours"
    assert mark(ModelInfo("m", lifecycle="deprecated", retires="2026-12-01")) == "Until 1 Dec 2026"
    assert mark(ModelInfo("m", retires="soon")) == "Until soon"
    assert mark(ModelInfo("m", lifecycle="deprecated")) == "Deprecated"
    assert mark(ModelInfo("m", lifecycle="active", retires="2028-01-01")) == ""
    assert mark(ModelInfo("m")) == ""


def test_p5_marks_are_painted_where_there_is_room(theme: Theme, qtbot: QtBot) -> None:
    """The name comes first; every mark is also in what a screen reader says."""
    shown = ModelList(theme)
    qtbot.addWidget(shown)
    old = ModelInfo("old", "Old", 1000, lifecycle="deprecated", retires="2026-12-01", tools=True)
    mine = ModelInfo("mine", "Mine", source="yours")
    shown.set_models([old, mine], set(), "old")

    def painted(width: int, colour: str) -> bool:
        shown.resize(width, shown.height())
        return theme.color(colour).rgba() in pixels(shown.grab().toImage())

    shown.show()
    assert painted(600, "warn_soft") and painted(600, "accent_soft")
    assert painted(410, "warn_soft") and not painted(410, "accent_soft")
    assert not painted(150, "warn_soft")
    says = [
        shown.shown.data(shown.shown.index(row), int(Qt.ItemDataRole.AccessibleTextRole))
        for row in (0, 1)
    ]
    assert "Until 1 Dec 2026" in str(says[0]) and "calls tools" in str(says[0])
    assert "Yours" in str(says[1])


async def test_nothing_begins_after_the_window_is_closed(
    theme: Theme, qtbot: QtBot, tmp_path: Path
) -> None:
    """A page may hear of a change until it is deleted, and its widgets are gone then."""
    nothing: Any = None
    file = SettingsFile(tmp_path / "settings.json")
    services = SettingsServices(file, *([nothing] * 6))
    dialog = SettingsDialog(theme, services, pages=[])
    qtbot.addWidget(dialog)
    done: list[str] = []

    async def work(name: str) -> None:
        done.append(name)

    services.tasks.start(work("saved"))
    await dialog.aclose()
    await services.tasks.start(work("shown"))
    assert done == ["saved"]
