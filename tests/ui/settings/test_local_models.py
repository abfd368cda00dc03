"""Models on this computer: found, fetched, paused, used for new chats and deleted in the window."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QMessageBox

from studio.providers.model_files.downloads import Download
from studio.providers.model_files.folder import Source
from studio.providers.registry import PROVIDERS
from studio.simulator import HubRepo, HubSimulator
from studio.ui.settings.dialog import SettingsDialog
from studio.ui.settings.pages.local_model_rows import LINES, progress_text
from studio.ui.settings.pages.local_models import LocalModelsPage
from support.llama_server import TEMPLATE, random_gguf
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

RESOURCES = Path(__file__).parents[3] / "resources"


async def opened(person: Person) -> LocalModelsPage:
    person.window.preferences.open("local-models")
    dialog = person.window.preferences.dialog
    assert isinstance(dialog, SettingsDialog)
    page = dialog.pages["local-models"]
    assert isinstance(page, LocalModelsPage)
    await until(page.isVisible)
    return page


@on_window_loop
async def test_a_model_is_found_fetched_used_and_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_gguf(tmp_path / "x.gguf", seed=2).read_bytes()
    name = "Tiny-Q4_K_M.gguf"
    repos = {
        "mill/Tiny-GGUF": HubRepo({name: data}, TEMPLATE, rate=2000.0),
        "mill/Tiny-Eyes-GGUF": HubRepo({"Eyes-Q4_K_M.gguf": data, "mmproj-f16.gguf": b"GGUF"}),
        "mill/Bad-Tiny-GGUF": HubRepo({"Bad-Tiny-Q4_K_M.gguf": data}, wrong=data[:-1] + b"!"),
        "mill/Gone-Tiny-GGUF": HubRepo({"Gone-Tiny-Q4_K_M.gguf": data}, gated=True),
    }
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    async with HubSimulator(repos) as hub, at_window(tmp_path, "ollama", []) as person:
        page = await opened(person)
        # What is there before anything is fetched: the list that ships, and Ollama's models.
        await until(lambda: len(page.results) == len(LINES) and "ollama" in page.rows)
        assert page.results[0].fit.words == "Fits well"
        lines = {row.model.source.title: row.line.text() for row in page.results}
        assert lines["Qwen 3 4B"] == "Quick answers and short tools, about 8.0 tokens/s"
        assert "about 9.5" in lines["gpt-oss 20B"] or "does not fit" in lines["gpt-oss 20B"]
        assert "Recommended, November 2026" in page.results[0].toolTip()
        assert page.rows["ollama"].line.text().startswith("5 models: demo-fast, ")
        assert page.count.text() == "5 ready, 5.0 GB"
        assert "core" in page.cores.text() and "GB free" in page.disk.text()
        below = page.cores.mapTo(page, QPoint()).y() - page.line.mapTo(page, QPoint()).y()
        assert below <= 30, "the computer's facts stand close to the title"

        # Searching, without a network and with it.
        page.words.setFocus()
        page.words.setText("tiny")
        person.press(Key.Key_Return)
        await until(lambda: page.again.isVisible())
        assert page.said.text() == "Hugging Face could not be reached. Check the network."
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        person.click(page.again)
        await until(lambda: len(page.results) == 4)
        assert page.found_count.text() == "4 found" and not page.again.isVisible()
        page.filter.set_current(2)
        page.filter.chosen.emit(2)
        assert [row.model.source.title for row in page.results] == ["Tiny"]
        person.click(page.filter.segment(3))
        assert [row.model.source.title for row in page.results] == ["Tiny Eyes"]
        page.filter.set_current(0)
        page.filter.chosen.emit(0)

        # A download: paused, gone on with, and then listed for every menu of models.
        found = {row.model.source.title: row for row in page.results}
        person.click(found["Tiny"].get)
        key = f"mill/Tiny-GGUF/{name}"
        await until(lambda: "MB" in (page.downloads[key].line.text() if page.downloads else ""))
        row = page.downloads[key]
        assert row.pause.isVisible() and not row.go_on.isVisible()
        person.click(row.pause)
        await until(lambda: row.line.text().startswith("Paused at "))
        hub.repos["mill/Tiny-GGUF"].rate = 0.0
        person.click(row.go_on)
        await until(lambda: "Tiny-Q4_K_M" in page.rows)
        folder = person.engine.paths.model_files
        assert (folder / name).read_bytes() == data and not page.downloads
        tiny = page.rows["Tiny-Q4_K_M"]
        assert tiny.line.text().startswith("Q4_K_M, tools, 8k context, about ")
        models = person.engine.catalogue
        await until(lambda: any(m.id == "Tiny-Q4_K_M" for m in models.listing("builtin").models))

        # What goes wrong says what to do.
        found = {row.model.source.title: row for row in page.results}
        assert not found["Tiny"].get.isEnabled()
        person.click(found["Bad Tiny"].get)
        person.click(found["Gone Tiny"].get)
        await until(lambda: len(page.downloads) == 2)
        bad, gone = page.downloads.values()
        await until(lambda: bad.line.text() == "The file is damaged and was deleted.")
        await until(lambda: "accept the terms on huggingface.co" in gone.line.text())
        assert bad.go_on.text() == gone.go_on.text() == "Get again"
        person.click(gone.cancel)
        await until(lambda: len(page.downloads) == 1)

        # Its speed is an estimate until it has answered here.
        assert "tokens/s (estimate)" in page.rows["Tiny-Q4_K_M"].line.text()
        with closing(sqlite3.connect(person.engine.paths.database)) as db, db:
            for tokens, seconds in ((100, 20.0), (100, 4.0), (8, 0.1)):  # loaded; told; too short
                db.execute(
                    "INSERT INTO usage (session_id, turn_id, at, agent, provider, model, step, "
                    "seconds, input, cache_read, cache_write, output, reasoning) "
                    "VALUES ('', '', 0, '', 'builtin', 'Tiny-Q4_K_M', 1, ?, 9, 0, 0, ?, 0)",
                    (seconds, tokens),
                )
        page.refresh()
        await until(lambda: "25 tokens/s here" in page.rows["Tiny-Q4_K_M"].line.text())

        # It is used for new chats, and deleted.
        page.rows["Tiny-Q4_K_M"].picked.emit("default")
        values = person.engine.settings.values
        assert (values.default_provider, values.default_model["builtin"]) == (
            "builtin",
            "Tiny-Q4_K_M",
        )
        assert page.rows["Tiny-Q4_K_M"].tag.isVisible()
        page.rows["Tiny-Q4_K_M"].picked.emit("delete")
        await answer(page, "Delete")
        await until(lambda: "Tiny-Q4_K_M" not in page.rows)
        assert not (folder / name).exists() and "builtin" not in values.default_model

        ollama = await until(lambda: page.rows.get("ollama"))
        QTest.keyClick(ollama.menu, Key.Key_Return)  # the menu opens by keyboard
        menu = ollama._menu
        assert menu is not None and menu.isVisible()
        menu.close()
        ollama.picked.emit("delete demo-fast:latest")
        await answer(page, "Delete")
        await until(lambda: page.count.text() == "4 ready, 4.0 GB")

        # Another folder, in which a file of the person's own lies.
        (tmp_path / "own").mkdir()
        random_gguf(tmp_path / "own" / "mine.gguf", seed=2)
        page._choose_folder()
        chooser = page.window().findChild(QFileDialog)
        assert chooser.testOption(QFileDialog.Option.ShowDirsOnly)
        chooser.fileSelected.emit(str(tmp_path / "own"))
        chooser.close()
        await until(lambda: "mine" in page.rows)
        assert values.models_folder == str(tmp_path / "own")


@on_window_loop
async def test_p1_no_model_can_be_fetched_that_nothing_here_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-1: the light package has no engine and no library that fetches; Ollama's are shown."""
    monkeypatch.setitem(PROVIDERS, "builtin", replace(PROVIDERS["builtin"], ready=False))
    async with at_window(tmp_path, "ollama", []) as person:
        page = await opened(person)
        await until(lambda: "ollama" in page.rows)
        assert page.missing.isVisible() and not page.getting.isVisible()
        page.rows.clear()
        page._ollama = None
        page._show_installed()
        assert not page.none.isVisible()


async def answer(page: LocalModelsPage, button: str) -> None:
    box = page._question
    assert isinstance(box, QMessageBox)
    await until(box.isVisible)
    next(one for one in box.buttons() if one.text() == button).click()


def test_what_is_recommended_has_its_words() -> None:
    """Each with a translation, a size, and a file of the quantization that a search offers."""
    data = json.loads((RESOURCES / "local_models.json").read_text("utf-8"))
    assert {model["line"] for model in data["models"]} == set(LINES)
    assert all(model["size"] >= 10**8 for model in data["models"])
    assert all(re.fullmatch(r"20\d\d-[01]\d", model["date"]) for model in data["models"])
    assert all(Source(one["repo"], one["file"]).name for one in data["models"])


def test_how_far_a_download_is() -> None:
    source = Source("Qwen/Qwen3-14B-GGUF", "Qwen3-14B-Q4_K_M.gguf")
    half = Download(source, Path(os.sep), "fetching", 5_400_000_000, 9_000_000_000, 38e6)
    assert progress_text(half) == "5.4 of 9.0 GB, 38 MB/s, 1 m 35 s left"
    slow = Download(source, Path(os.sep), "fetching", 0, 9_000_000_000, 500_000)
    assert progress_text(slow) == "0.0 of 9.0 GB, 0.5 MB/s, 5.0 h left"
    stopped = Download(
        source, Path(os.sep), "failed", 2_100_000_000, 7_300_000_000, fault="offline"
    )
    assert progress_text(stopped) == "Stopped at 2.1 of 7.3 GB. The network went away."
    full = Download(source, Path(os.sep), "failed", fault="space", detail="3400000000")
    assert progress_text(full).startswith("The disk is too full. Make 3.4 GB of room")
