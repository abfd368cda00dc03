"""At the window: what a server asks during a call, on a card above the composer (M-19)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from studio.domain.blocks import ToolBlock
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from studio.ui.forms.question_panel import QuestionPanel
from studio.ui.transcript.items.tool_item import ToolsItem
from support.server_home import ListedServer, switch_on, tool
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "integer", "title": "How many", "minimum": 1, "maximum": 9},
        "mail": {"type": "string", "format": "email", "description": "For the bill."},
        "gift": {"type": "boolean", "default": True},
        "color": {
            "type": "string",
            "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}],
            "default": "b",
        },
        "sizes": {
            "type": "array",
            "items": {
                "anyOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]
            },
            "minItems": 1,
            "default": ["s"],
        },
        "api_key": {"type": "string"},
    },
    "required": ["amount", "sizes"],
}
ORDER = Turn(Call("shop__order", {}))


class Opener(QObject):
    """Notes the addresses that would be opened."""

    def __init__(self, opened: list[QUrl]) -> None:
        super().__init__()
        self._opened = opened

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self._opened.append(url)


async def asked(person: Person, folder: Path, **asks: Any) -> QuestionPanel:
    """A server asks during a call in a new chat; returns what is on screen."""
    shop = ListedServer(folder)
    shop.offer({**tool("order"), "asks": {"message": "Which one?", **asks}})
    await switch_on(person.engine.services.servers, shop)
    await person.engine.rules.add(Rule("allow", "shop__*"), None)
    person.say("Order")
    return await until(lambda: person.window.chat.asked.panel, what="a server's question")


async def settled(panel: QuestionPanel) -> None:
    """Wait until keys count on the card."""
    await until(lambda: not panel.deaf)


def sent(person: Person) -> Any:
    (call,) = person.blocks(ToolBlock)
    return json.loads(call.output[call.output.index("{") : call.output.rindex("}") + 1])


@on_window_loop
async def test_m19_a_form_is_filled_in_by_keys(tmp_path: Path) -> None:
    """M-19: the server is named, defaults are there, limits are told, and all values arrive."""
    async with at_window(tmp_path, "openai-compatible", [ORDER, Turn(Text("Done."))]) as person:
        panel = await asked(person, tmp_path, schema=FORM)
        card = person.window.chat.asked
        assert card.isVisible() and panel.title.text() == "shop asks"
        assert panel.message.text() == "Which one?"
        assert card.geometry().bottom() < person.composer.y()
        assert panel.form is not None and panel.form.warns
        rows = panel.form.rows
        await until(lambda: person.focused() is rows["amount"].line)
        person.type("12")
        person.press(Key.Key_Return)
        assert card.isVisible(), "keys count only after a moment"
        await settled(panel)
        person.press(Key.Key_Return)
        assert rows["amount"].problem.text() == "How many is at most 9."
        assert person.focused() is rows["amount"].line
        person.press(Key.Key_Backspace)
        person.press(Key.Key_Tab)
        person.type("nobody")
        person.press(Key.Key_Return)
        assert rows["mail"].problem.text() == "mail is an e-mail address."
        person.type("@example.com")
        person.press(Key.Key_Tab)
        person.press(Key.Key_Space)  # no gift
        for _ in range(3):
            person.press(Key.Key_Tab)
        assert person.focused() is rows["sizes"].checks[1]
        person.press(Key.Key_Space)
        person.press(Key.Key_Return, CTRL)
        await person.done()
        assert sent(person) == {
            "action": "accept",
            "content": {
                "amount": 1,
                "mail": "nobody@example.com",
                "gift": False,
                "color": "b",
                "sizes": ["s", "l"],
            },
        }
        assert not card.isVisible()


@on_window_loop
async def test_m19_to_decline_differs_from_to_cancel(tmp_path: Path) -> None:
    """M-19: also after Escape, which leaves the question open for Ctrl+J."""
    script = [ORDER, Turn(Text("Well.")), ORDER, Turn(Text("Well."))]
    async with at_window(tmp_path, "openai-compatible", script) as person:
        panel = await asked(person, tmp_path, schema=FORM)
        person.press(Key.Key_Escape)
        assert person.focused() is person.composer.editor
        assert panel.isVisible() and person.session.running
        person.press(Key.Key_J, CTRL)
        assert panel.form is not None and person.focused() is panel.form.rows["amount"].line
        person.click(panel.decline)
        await person.done()
        assert sent(person)["action"] == "decline"
        person.press(Key.Key_N, CTRL)
        await until(lambda: person.window.chat.session is None)
        person.say("Again")
        second = await until(lambda: person.window.chat.asked.panel)
        person.click(second.cancel)
        await person.done()
        assert sent(person)["action"] == "cancel"


@on_window_loop
async def test_m19_an_address_opens_by_a_click_alone(tmp_path: Path) -> None:
    """M-19: the whole address is shown first, and what was typed elsewhere opens nothing."""
    opened: list[QUrl] = []
    opener = Opener(opened)
    QDesktopServices.setUrlHandler("https", opener, "open")  # type: ignore[arg-type]
    url = f"https://example.com/{'deep/' * 40}?state=1"
    try:
        async with at_window(tmp_path, "openai-compatible", [ORDER, Turn(Text("Done."))]) as person:
            panel = await asked(person, tmp_path, url=url)
            assert panel.address is not None
            assert panel.address.accessibleName() == url
            assert panel.address.width() <= panel.width()
            assert "example.com" in panel.where.text()
            assert opened == []
            await settled(panel)
            person.click(panel.send)
            assert [one.toString() for one in opened] == [url]
            await person.done()
            assert sent(person)["action"] == "accept"
    finally:
        QDesktopServices.unsetUrlHandler("https")


@on_window_loop
async def test_m19_no_other_address_is_opened(tmp_path: Path) -> None:
    """M-19: a file, a script, or a password before the host can only be declined."""
    async with at_window(tmp_path, "openai-compatible", [ORDER, Turn(Text("Done."))]) as person:
        panel = await asked(person, tmp_path, url="https://bank.example@evil.example/")
        assert not panel.send.isVisible()
        person.click(panel.decline)
        await person.done()
        assert sent(person)["action"] == "decline"


@on_window_loop
async def test_m19_what_is_filled_in_stays_while_another_chat_is_shown(tmp_path: Path) -> None:
    """M-19: also a long form keeps the transcript and the composer in sight."""
    many = {f"field_{n}": {"type": "string"} for n in range(40)}
    async with at_window(tmp_path, "openai-compatible", [ORDER, Turn(Text("Done."))]) as person:
        panel = await asked(person, tmp_path, schema={"type": "object", "properties": many})
        card = person.window.chat.asked
        assert card.height() <= person.window.chat.height() * 0.6
        assert panel.send.isVisible() and person.composer.isVisible()
        person.type("kept")
        title = person.session.info.title
        person.press(Key.Key_N, CTRL)
        await until(lambda: not card.isVisible())
        await person.open_chat(title)
        await until(card.isVisible)
        assert card.panel is panel and panel.form is not None
        assert panel.form.value()["field_0"] == "kept"
        await settled(panel)
        panel.accept()
        await person.done()
        assert sent(person)["content"]["field_0"] == "kept"


@on_window_loop
async def test_m20_what_a_model_would_read_is_shown_first(tmp_path: Path) -> None:
    """M-20: it answers by a press of the button, and the server gets what it says."""
    script = [ORDER, Turn(Text("The red one.")), Turn(Text("Done."))]
    async with at_window(tmp_path, "openai-compatible", script) as person:
        shop = ListedServer(tmp_path)
        shop.offer({**tool("order"), "asks": {"prompt": "Which is best?"}})
        servers = person.engine.services.servers
        (entry,) = await switch_on(servers, shop)
        await servers.say(replace(entry, sampling=True))
        await person.engine.rules.add(Rule("allow", "shop__*"), None)
        person.say("Order")
        panel = await until(lambda: person.window.chat.asked.panel, what="a server's question")
        assert panel.title.text().startswith("shop wants ")
        assert panel.message.text() == "Which is best?" and "your limits" in panel.where.text()
        assert panel.send.text() == "Let it answer"
        await settled(panel)
        person.click(panel.send)
        await person.done()
        (call,) = person.blocks(ToolBlock)
        assert "The red one." in call.output
        assert not person.window.chat.asked.isVisible()


@on_window_loop
async def test_m11_a_link_of_a_server_is_a_chip(tmp_path: Path) -> None:
    """M-11: with its host, opened by a click; what no browser should open is text alone."""
    opened: list[QUrl] = []
    opener = Opener(opened)
    QDesktopServices.setUrlHandler("https", opener, "open")  # type: ignore[arg-type]
    pages = ["https://example.com/orders/7?full=1", "https://me:key@example.com/", "file:///etc"]
    try:
        async with at_window(tmp_path, "openai-compatible", [ORDER, Turn(Text("Done."))]) as person:
            shop = ListedServer(tmp_path)
            shop.offer({**tool("order"), "links": pages})
            await switch_on(person.engine.services.servers, shop)
            await person.engine.rules.add(Rule("allow", "shop__*"), None)
            person.say("Order")
            await person.done()
            view = person.window.chat.view
            (item,) = [one for one in view.canvas.items if isinstance(one, ToolsItem)]
            await until(lambda: [one for one in item.hits if one.action == "open_link"])
            (chip,) = [one for one in item.hits if one.action == "open_link"]
            assert chip.text == "example.com/orders/7"
            view.item_actions.do(item, chip)
            assert [one.toString() for one in opened] == pages[:1]
    finally:
        QDesktopServices.unsetUrlHandler("https")
