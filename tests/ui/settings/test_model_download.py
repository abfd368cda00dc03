"""A model is downloaded to an Ollama from the settings."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from studio.ui.settings.dialog import SettingsDialog
from studio.ui.settings.pages.provider_rows import ModelDownloadRow
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


async def row(person: Person) -> ModelDownloadRow:
    person.window.preferences.open("providers", "ollama")
    dialog = person.window.preferences.dialog
    assert isinstance(dialog, SettingsDialog)
    await until(dialog.isActiveWindow)
    found = dialog.pages["providers"].sections["ollama"].pull
    assert found is not None and dialog.pages["providers"].sections["anthropic"].pull is None
    await until(found.isVisible)

    def seen() -> bool:
        dialog.pages["providers"].ensureWidgetVisible(found)
        return not found.get.visibleRegion().isEmpty()

    await until(seen)
    return found


@on_window_loop
async def test_a_model_is_downloaded_or_why_not(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        pull = await row(person)
        assert not pull.get.isEnabled() and not pull.bar.isVisible()
        pull.name.setFocus()
        pull.name.setText("demo-fast")
        person.press(Key.Key_Return)
        await until(lambda: pull.progress.text() == "demo-fast is downloaded.")
        await until(lambda: pull.name.isEnabled() and pull.name.text() == "")
        assert not pull.bar.isVisible() and pull.bar.part == 1.0
        assert any(request.path.endswith("/api/pull") for request in person.simulator.requests)
        pull.name.setText("missing-model")
        person.click(pull.get)
        await until(lambda: pull.problem.isVisible())
        assert "did not find it" in pull.problem.text() and pull.name.error
        assert not pull.cancel.isVisible()


@on_window_loop
async def test_a_download_shows_how_far_it_is_and_can_be_cancelled(tmp_path: Path) -> None:
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = [{"status": "pulling abc", "digest": "abc", "total": 4 * 10**9, "completed": 10**9}]
        if b"/api/pull" not in head:
            body = [{"models": []}]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n")
        writer.write(b"Connection: close\r\n\r\n" + json.dumps(body[0]).encode() + b"\n")
        await writer.drain()
        if b"/api/pull" in head:
            while await reader.read(1000):
                pass
            left.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with at_window(tmp_path, "ollama", []) as person:
        person.engine.settings.values.base_urls["ollama"] = address
        pull = await row(person)
        pull.name.setText("big")
        person.click(pull.get)
        await until(lambda: pull.progress.text() == "Downloading, 1.0 of 4.0 GB")
        assert pull.bar.isVisible() and pull.bar.part == 0.25 and not pull.get.isVisible()
        assert pull.bar.accessibleName() == "25% downloaded"
        person.click(pull.cancel)
        await until(left.is_set)
        await until(lambda: pull.get.isVisible() and "Cancelled" in pull.progress.text())
        left.clear()
        person.click(pull.get)
        await until(lambda: pull.bar.part == 0.25 and "Downloading" in pull.progress.text())
    await until(left.is_set)  # the window is gone, and so is the download
    server.close()
    await server.wait_closed()
