"""The window tells of a newer version, and after an update of what is new; it installs nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PySide6.QtWidgets import QApplication

from studio import __version__
from studio.agent.engine import Engine
from studio.storage.config.settings import SettingsFile
from studio.ui.app.updates import UpdateNews
from studio.ui.settings.pages.about import AboutPage
from studio.ui.widgets.text_dialog import TextDialog
from support.local_site import Site, site
from support.signed_updates import NEXT, release, signed
from support.waiting import until
from support.window import alone, at_window, on_window_loop

__all__ = ["alone"]
CHANGES = "- fly, **at last**"


def built(folder: Path, url: str) -> Callable[[Engine], Awaitable[None]]:
    """Give the engine the files of a package, which the source folder has not."""

    async def prepare(engine: Engine) -> None:
        resources = folder / "resources"
        if not resources.is_dir():
            resources.mkdir(parents=True)
            for one in engine.paths.resources.iterdir():
                (resources / one.name).symlink_to(one)
            made = release(url)
            told = {"address": made.address, "keys": made.keys, "changes": CHANGES}
            (resources / "release.json").write_text(json.dumps(told))
        engine.paths = replace(engine.paths, resources=resources)

    return prepare


def dialogs() -> list[TextDialog]:
    found = (one for one in QApplication.topLevelWidgets() if isinstance(one, TextDialog))
    return [one for one in found if one.isVisible()]


def ran(version: str) -> Callable[[SettingsFile], None]:
    def setup(settings: SettingsFile) -> None:
        settings.values.version_seen = version

    return setup


@on_window_loop
async def test_the_first_start_after_an_update_shows_what_is_new(
    alone: QApplication, tmp_path: Path
) -> None:
    """I-11: once, without taking the keys; not to a person who is new, nor of an older version."""
    make = built(tmp_path, "http://127.0.0.1:9")
    async with at_window(tmp_path, "openai", [], setup=ran("0.0.1"), prepare=make) as person:
        (shown,) = await until(dialogs, what="what is new")
        assert __version__ in shown.windowTitle()
        assert "fly, at last" in shown.text.toPlainText()
        assert person.focused() is person.composer.editor
        shown.accept()
    for version in (__version__, "99.0"):
        async with at_window(tmp_path, "openai", [], setup=ran(version), prepare=make) as person:
            seen = person.program.settings.values
            await until(lambda seen=seen: seen.version_seen == __version__)
            assert not dialogs()
    home = tmp_path / "new"
    make = built(home, "http://127.0.0.1:9")
    async with at_window(home, "openai", [], first_run=True, prepare=make) as person:
        await until(lambda: person.program.settings.values.version_seen == __version__)
        assert not dialogs()


@on_window_loop
async def test_a_newer_version_is_told_once_and_can_be_left_unasked(
    alone: QApplication, tmp_path: Path
) -> None:
    """I-10: once a day at most, each version once; the settings ask at once, or never."""
    async with site() as place:
        place.page("/updates.json", signed(NEXT))
        make = built(tmp_path, place.url)
        async with at_window(
            tmp_path, "openai", [], setup=ran(__version__), prepare=make
        ) as person:
            await follow_updates(person.program, place)


async def follow_updates(program, place: Site) -> None:  # type: ignore[no-untyped-def]
    values, banner = program.settings.values, program.current.banner
    engine = program.engine
    news = UpdateNews(engine, program.settings, program._shared.theme, lambda: program.current)
    following = asyncio.create_task(news.follow(0, 0))
    try:
        told = await until(lambda: banner.text, what="news of it")
        assert "Agent Studio 9.1" in told and "https://studio.example/releases/9.1" in told
        assert (len(place.asked), values.update_told) == (1, "9.1")
        banner._next()

        def a_day_later() -> None:
            values.updates_asked = (datetime.now(UTC) - timedelta(hours=25)).isoformat()

        a_day_later()
        await until(lambda: len(place.asked) == 2)
        place.page("/updates.json", "no signature")
        a_day_later()
        await until(lambda: len(place.asked) == 3)
        assert not banner.text, "what is known is not told again, nor that nobody answered"

        program.preferences.open("about")
        page = program.preferences.dialog.findChild(AboutPage)
        assert page.updates.isChecked()
        page.updates.click()
        assert not values.look_for_updates
        place.page("/updates.json", signed(NEXT, version="9.2"))
        page.look.click()
        await until(lambda: "9.2" in page.found.text(), what="the answer in the settings")
        assert len(place.asked) == 4
        a_day_later()
        for _ in range(20):  # it looks whether it is time in each of these
            await asyncio.sleep(0)
        assert len(place.asked) == 4
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
