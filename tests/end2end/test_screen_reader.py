"""The window as a screen reader finds it, on a real accessibility bus."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from studio.simulator import Call, Simulator, Text, Turn
from support import accessibility_bus
from support.engine_home import PROTOCOLS

ANSWER = """# The *result*

Some **bold** `code` and $\\frac{1}{2}$.

| a | b |
|---|---|
| 1 | **2** |
"""
READ = "The result\nSome bold code and 1/2.\na, b\n1, 2"

STEPS = (
    f"READ = {READ!r}"
    + r"""
run_reader()
listener = begin()
find("push button", "Agent, Coder")  # all is there
raise_window()

def say(words):
    editor = find("text", "Message")
    editor.get_component_iface().grab_focus()
    editor.get_editable_text_iface().set_text_contents(words)
    return press("push button", "Send")

actions = say("Why?")
until(lambda: [one for one in heard if one[:2] == ("said", "Coder is done.")], "done")
answer = find("list item", "The result")
words = answer.get_text_iface()
at = READ.index("bold")
place = words.get_character_extents(at, Atspi.CoordType.SCREEN)
around = answer.get_component_iface().get_extents(Atspi.CoordType.SCREEN)
read = {
    "all": Atspi.Text.get_text(words, 0, words.get_character_count()),
    "word": words.get_string_at_offset(at + 1, Atspi.TextGranularity.WORD).content,
    "line": words.get_string_at_offset(at + 1, Atspi.TextGranularity.LINE).content,
    "letter": words.get_string_at_offset(at, Atspi.TextGranularity.CHAR).content,
    "inside": around.x <= place.x <= place.x + place.width <= around.x + around.width
    and around.y <= place.y <= place.y + place.height <= around.y + around.height,
}
transcript = answer.get_parent()
blocks = [
    (role(one), one.get_name())
    for one in walk(transcript) if role(one).startswith("list")
]
transcript.get_component_iface().grab_focus()
for name in (READ, "Coder, sim-model"):
    key("Up")
    until(lambda: ("focus", name, "list item") in heard, f"focus on {name}")

say("Run it")
until(lambda: [one for one in heard if one[0] == "said" and one[1].endswith("answer")], "asked")
buttons = [find("push button", name).get_description() for name in ("Allow once", "Deny")]
silent = [one.get_name() for one in everything() if role(one) == "layered pane"]
press("push button", "Allow once")
until(lambda: len([one for one in heard if one[0] == "said"]) == 3, "done again")
row = find("push button", "Ran ")
names = [row.get_name()]
press("push button", "Ran ")
until(lambda: row.get_name() not in names, "opened")
names.append(row.get_name())
controls = ("push button", "check box", "text", "list", "list item", "combo box", "menu item")
tell(
    actions=actions, read=read, blocks=blocks, names=names,
    buttons=buttons, silent=silent,
    said=[one[1:] for one in heard if one[0] == "said"],
    unnamed=[
        role(one) for one in everything()
        if role(one) in controls and showing(one) and not one.get_name()
    ],
)
"""
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="this bus is Linux's")
async def test_a_chat_with_a_screen_reader(tmp_path: Path) -> None:
    """U-1: type, send, hear the end, read the answer, move, answer a question, open a row."""
    script = [
        Turn(Text(ANSWER)),
        Turn(Call("run", {"command": "echo hi"}), stop="tool_use"),
        Turn(Text("It *ran*."), stop="end"),
    ]
    async with Simulator(script) as simulator, accessibility_bus.screen(tmp_path) as env:
        (tmp_path / "studio").mkdir()
        values = {
            "first_run_done": True,
            "write_titles": False,
            "default_provider": "ollama",
            "default_model": {"ollama": "sim-model"},
            "base_urls": {"ollama": simulator.url(PROTOCOLS["ollama"])},
            "last_folder": str(tmp_path),
        }
        (tmp_path / "studio" / "settings.json").write_text(json.dumps(values))
        found = await accessibility_bus.read(env, STEPS)
    # Qt 6.12 writes the second in two words.
    assert [name.replace(" ", "") for name in found["actions"]] == ["Press", "SetFocus"]
    assert found["read"] == {
        "all": READ,
        "word": "bold",
        "line": "Some bold code and 1/2.\n",
        "letter": "b",
        "inside": True,
    }
    assert found["blocks"] == [
        ["list", "Transcript"],
        ["list item", "You: Why?"],
        ["list item", "Coder, sim-model"],
        ["list item", READ],
    ]
    done, asked, again = found["said"]
    assert done == again == ["Coder is done.", 1], "when the reader is next silent"
    assert asked[0].startswith("Coder wants to run a command, echo hi, ")
    assert asked[0].endswith("needs your answer") and asked[1] == 2, "at once"
    assert found["buttons"] == [asked[0], ""], "the first one says what is asked, once"
    assert found["silent"] == [], "Orca would name the pane on each way to the chat"
    assert found["names"] == [
        "Ran echo hi, done, exit 0, collapsed",
        "Ran echo hi, done, exit 0, expanded",
    ]
    assert found["unnamed"] == []
