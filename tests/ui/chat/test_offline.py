"""At the window without a network: the message waits, goes out on return, can be taken back."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

from studio.domain.blocks import FailureBlock, TextBlock, UserBlock
from studio.simulator import Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.ui.transcript.items.turn_items import FailureItem
from support.engine_home import PROTOCOLS
from support.waiting import until
from support.window import Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
PROVIDER = "openai"


def offline(settings: SettingsFile) -> None:
    """Nothing listens at the provider's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings.values.base_urls[PROVIDER] = f"http://127.0.0.1:{port}/v1"


def online(person: Person) -> None:
    address = person.simulator.url(PROTOCOLS[PROVIDER])
    person.engine.settings.values.base_urls[PROVIDER] = address
    person.window.runner.look_again(person.session.info.id)


def said(person: Person) -> list[str]:
    return [block.text for block in person.blocks() if isinstance(block, UserBlock | TextBlock)]


async def say_offline(person: Person) -> None:
    """Send a message that cannot go out, and wait until its card says so."""
    services = person.engine.services
    services.retry_policy = replace(services.retry_policy, attempts=1)
    person.say("Hello")
    await until(lambda: person.window.chat.session and person.window.chat.model.offline)
    await until(lambda: person.hit(FailureItem, "remove_from_queue"))


def card(person: Person) -> str:
    return "\n".join(leaf.text for leaf in person.item(FailureItem).leaves)


def queued(person: Person) -> list[QWidget]:
    return [row for row in person.window.chat.queue.rows if row.isVisible()]


@on_window_loop
async def test_messages_wait_offline_and_go_out_on_return(tmp_path: Path) -> None:
    script = [Turn(Text("First.")), Turn(Text("Second."))]
    async with at_window(tmp_path, PROVIDER, script, setup=offline) as person:
        await say_offline(person)
        assert "You’re offline" in card(person) and "is queued and goes out" in card(person)
        assert "127.0.0.1" in card(person)  # the address that does not answer
        person.say("And this")
        await until(lambda: queued(person))
        assert not person.window.chat.queue.rows[0].send.isVisible()  # it cannot go out now
        assert said(person) == ["Hello"] and not person.asked
        online(person)
        await person.done(3)
        await until(lambda: said(person) == ["Hello", "First.", "And this", "Second."])
        assert not queued(person) and not person.window.chat.model.offline
        assert len(person.blocks(FailureBlock)) == 1
        assert "You’re offline" not in person.view.canvas.items[2].name


@on_window_loop
async def test_a_message_that_waits_offline_can_be_taken_back(tmp_path: Path) -> None:
    async with at_window(tmp_path, PROVIDER, [Turn(Text("First."))], setup=offline) as person:
        await say_offline(person)
        await person.click_hit(FailureItem, "remove_from_queue")
        await until(lambda: not person.window.chat.model.offline)
        assert person.composer.text == "Hello" and person.composer.editor.hasFocus()
        assert "You’re offline" not in card(person)
        runner = person.window.runner
        await until(lambda: not runner._runs)  # nobody waits any more
        online(person)
        assert not person.asked


@on_window_loop
async def test_the_window_closes_while_a_message_waits(tmp_path: Path) -> None:
    """What could not go out is there after a restart."""
    async with at_window(tmp_path, PROVIDER, [], setup=offline) as person:
        await say_offline(person)
    async with at_window(tmp_path, PROVIDER, [Turn(Text("First."))]) as person:
        await person.open_chat("Hello")
        await until(lambda: said(person) == ["Hello"])
        await person.click_hit(FailureItem, "try_again")
        await person.done(2)
        assert said(person) == ["Hello", "First."]


@on_window_loop
async def test_a_chat_deleted_while_its_message_waits_sends_nothing(tmp_path: Path) -> None:
    async with at_window(tmp_path, PROVIDER, [Turn(Text("First."))], setup=offline) as person:
        await say_offline(person)
        person.window.chats.delete([person.session.info.id])
        await until(lambda: not person.window.runner._runs)
        await until(lambda: person.window.chat.session is None and not person.chats())
        assert not person.asked and not person.window.banner.text
