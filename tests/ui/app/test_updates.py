"""The window tells of a newer version, and after an update of what is new; it installs nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from PySide6.QtWidgets import QApplication

from studio import __version__
from studio.agent.engine import Engine
from studio.domain.errors import StorageError
from studio.storage.config.settings import SettingsFile
from studio.ui.app.updates import UpdateNews
from studio.ui.settings.pages.about import AboutPage
from studio.ui.widgets.text_dialog import TextDialog
from support.local_site import Site, site
from support.signed_updates import NEXT, release, signed
from support.waiting import until
from support.window import alone, at_window, on_window_loop

__all__ = ["alone"]
CHANGES = {
    __version__: "- fly, **at last**" + "\n- small things" * 20,
    "0.0.2": "- swim",
    "0.0.1": "- walk",
}


def built(folder: Path, url: str) -> Callable[[Engine], Awaitable[None]]:
    """Give the engine the files of a package, which the source folder has not."""

    async def prepare(engine: Engine) -> None:
        resources = folder / "resources"
        if not resources.is_dir():
            resources.mkdir(parents=True)
            for one in engine.paths.resources.iterdir():
                (resources / one.name).symlink_to(one)
            made = release(url)
            changes = [{"version": of, "text": text} for of, text in CHANGES.items()]
            told = {"address": made.address, "keys": made.keys, "changes": changes}
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
        told = shown.text.toPlainText()
        assert "fly, at last" in told and "swim" in told and "walk" not in told
        assert told.count("small things") < 8 and "17 more changes are in the settings" in told
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


def follow(program) -> asyncio.Task[None]:  # type: ignore[no-untyped-def]
    """Ask without waiting for the hour; each look whether it is time is one turn of the loop."""
    theme, current = program._shared.theme, lambda: program.current
    news = UpdateNews(program.engine, program.settings, theme, current, program.later)
    return asyncio.create_task(news.follow(0, 0))


async def follow_updates(program, place: Site) -> None:  # type: ignore[no-untyped-def]
    values, banner = program.settings.values, program.current.banner
    following = follow(program)
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
        before = values.updates_asked
        for _ in range(20):  # it looks whether it is time in each of these, and notes that it asks
            await asyncio.sleep(0)
        assert values.updates_asked == before and len(place.asked) == 4
        page.updates.click()
        await until(lambda: values.updates_asked != before, what="asking after the switch")
        await until(lambda: len(place.asked) == 5)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@on_window_loop
async def test_a_version_counts_as_told_once_it_was_seen(
    alone: QApplication, tmp_path: Path
) -> None:
    """I-10: a message that waits behind another is lost with the program, and told again."""
    async with site() as place:
        place.page("/updates.json", signed(NEXT))
        make = built(tmp_path, place.url)
        async with at_window(
            tmp_path, "openai", [], setup=ran(__version__), prepare=make
        ) as person:
            values, banner = person.program.settings.values, person.program.current.banner
            values.update_told = "9.0"
            banner.say("Something else is wrong.")
            following = follow(person.program)
            try:
                await until(lambda: banner._waiting, what="the news behind the other message")
                assert values.update_told == "9.0"
                banner._next()
                assert "Agent Studio 9.1" in banner.text and values.update_told == "9.1"
                banner._next()
                for old in ("9.0", "0.0.1"):  # a file of before, held back by whoever has the place
                    place.page("/updates.json", signed(NEXT, version=old))
                    asked = len(place.asked)
                    values.updates_asked = ""
                    await until(lambda asked=asked: len(place.asked) > asked)
                    await until(lambda: values.updates_asked)
                assert not banner.text and values.update_told == "9.1"
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)


@on_window_loop
async def test_a_file_that_nobody_signed_is_told_where_the_person_looks(
    alone: QApplication, tmp_path: Path
) -> None:
    """I-10: a program that skipped a change of keys says so in the settings, and not each day."""
    async with site() as place:
        place.page("/updates.json", signed(Ed25519PrivateKey.generate()))
        make = built(tmp_path, place.url)
        async with at_window(
            tmp_path, "openai", [], setup=ran(__version__), prepare=make
        ) as person:
            program = person.program
            values = program.settings.values
            following = follow(program)
            try:
                await until(lambda: values.updates_refused, what="what was wrong")
                assert not program.current.banner.text
                program.preferences.open("about")
                page = program.preferences.dialog.findChild(AboutPage)
                assert "not signed" in page.found.text() and page.found.isVisible()
                place.page("/updates.json", signed(NEXT, version=__version__, date="2027-01-02"))
                page.look.click()
                await until(lambda: "as of 2 Jan 2027" in page.found.text())
                assert not values.updates_refused
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)


@on_window_loop
async def test_settings_that_cannot_be_written_stop_no_news(
    alone: QApplication, tmp_path: Path
) -> None:
    """I-10, I-11: it is asked and told as otherwise."""
    async with site() as place:
        place.page("/updates.json", signed(NEXT))
        make = built(tmp_path, place.url)
        async with at_window(tmp_path, "openai", [], setup=ran("0.0.1"), prepare=make) as person:
            (shown,) = await until(dialogs, what="what is new")
            shown.accept()
            settings = person.program.settings
            settings.values.version_seen = "0.0.1"
            settings.path = tmp_path / "release.json" / "settings.json"  # below a file
            settings.path.parent.write_text("")
            with pytest.raises(StorageError):
                await settings.save()
            following = follow(person.program)
            try:
                (shown,) = await until(dialogs, what="what is new, once more")
                banner = person.program.current.banner

                def news() -> bool:
                    if banner.text and "9.1" not in banner.text:
                        banner._next()  # that the settings cannot be written
                    return "9.1" in banner.text

                await until(news)
                assert not following.done()
                shown.accept()
            finally:
                settings.path = tmp_path / "settings.json"
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
