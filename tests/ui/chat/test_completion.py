"""At the composer: files, folders and agents after @, commands after a slash."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from studio.domain.blocks import AgentBlock, UserBlock
from studio.domain.messages import File
from studio.simulator import Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.ui.chat.prompt_dialog import PromptDialog
from studio.ui.palette.completion import Completion
from studio.ui.palette.entries import FoundEntry
from support.languages import language
from support.mcp_servers import sdk_server
from support.waiting import until
from support.window import CTRL, SHIFT, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def files(folder: Path) -> None:
    """A folder with what is listed, and with what is not."""
    for name in ("src/app.py", "src/deep/two words.md", "notes.md", "build/out.js", ".git/HEAD"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"This is {name}.\n")
    (folder / ".gitignore").write_text("/build/\n*.log\n")
    (folder / "run.log").write_text("noise")
    (folder.parent / "secret.txt").write_text("hidden")
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")


def box(person: Person) -> Completion:
    assert person.window.completion is not None
    return person.window.completion


def offered(person: Person) -> list[str]:
    """What the list has; nothing if it is closed."""
    if person.window.completion is None or not box(person).isVisible():
        return []
    return [row.entry.title for row in box(person).results.rows if isinstance(row, FoundEntry)]


def chosen(person: Person) -> str:
    row = box(person).list.current
    return row.entry.title if row is not None else ""


def attached(person: Person) -> list[str]:
    return [item.name for item in person.window.chat.model.attachments.items]


@on_window_loop
async def test_k7_skills_and_commands_are_called_after_a_slash(tmp_path: Path) -> None:
    """K-5, K-7: the list has them, Enter puts the name in, and the text goes with the message."""
    async with at_window(tmp_path, "anthropic", lambda _: Turn(Text("One."))) as person:
        config = person.engine.paths.config
        (config / "commands").mkdir()
        (config / "commands" / "review.md").write_text(
            "---\ndescription: Judge it\n---\nLook at $1."
        )
        (config / "skills" / "release-notes").mkdir(parents=True)
        (config / "skills" / "release-notes" / "SKILL.md").write_text(
            "---\ndescription: Notes of a release\n---\nGroup them."
        )
        person.type("/rev")
        await until(lambda: "/review" in offered(person))
        assert chosen(person) == "/review"
        person.press(Key.Key_Return)
        assert person.composer.text == "/review " and not offered(person)
        person.type("a.py")
        person.press(Key.Key_Return)
        session = await until(lambda: person.window.chat.session)
        await until(lambda: session.transcript.blocks and not session.running)
        said = next(one for one in session.transcript.blocks if isinstance(one, UserBlock))
        (file,) = [one for one in said.said if isinstance(one, File)]
        assert said.text == "/review a.py" and file.invoked and b"Look at a.py." in file.data
        person.window.chat.model.input.begin_edit(said.said, said.text, said.turn_id)
        assert person.composer.text == "/review a.py" and attached(person) == []
        person.composer.set_text("")
        person.type("/notes of")
        assert offered(person) == []  # a blank ends the word
        person.composer.set_text("")
        person.type("/release")
        await until(lambda: offered(person) == ["/release-notes"])


@on_window_loop
async def test_files_folders_and_agents_are_named_after_an_at_sign(tmp_path: Path) -> None:
    script = [Turn(Text("One.")), Turn(Text("Two."))]
    files(tmp_path / "work")
    async with at_window(tmp_path, "anthropic", script) as person:
        composer, editor = person.composer, person.composer.editor
        person.type("me@here ")
        assert offered(person) == []  # an address
        person.type("See @")
        await until(lambda: ".gitignore" in offered(person))
        assert offered(person)[:4] == [".gitignore", "notes.md", "src/", "src/app.py"]
        assert "Coder" in offered(person)
        assert box(person).geometry().right() <= person.window.chat.width()
        person.type("sap")  # initials, or letters apart
        assert offered(person) == ["src/app.py"]
        assert "src/app.py" in editor.accessibleDescription()
        person.press(Key.Key_Return)
        assert composer.text == "me@here See @src/app.py " and not offered(person)
        await until(lambda: not person.window.chat.model.attachments.reading)
        assert attached(person) == ["app.py"]

        # A folder stays open with Tab; blanks are escaped; Down goes on at the other end.
        person.type("and @sr")
        person.press(Key.Key_Up)
        person.press(Key.Key_Down)
        assert chosen(person) == "src/"
        person.press(Key.Key_Tab)
        assert composer.text.endswith("@src/") and "src/deep/" in offered(person)
        person.type("two")
        assert offered(person) == ["src/deep/two words.md"]
        person.press(Key.Key_Tab)
        assert composer.text.endswith(r" and @src/deep/two\ words.md ")
        await until(lambda: len(attached(person)) == 2)
        marked = [mark.cursor.selectedText() for mark in editor.extraSelections()]
        assert marked == ["@src/app.py", r"@src/deep/two\ words.md"]

        # A name that leaves the text takes its file along; Undo brings both back.
        for _ in range(len(r"@src/deep/two\ words.md ")):
            person.press(Key.Key_Backspace)
        assert attached(person) == ["app.py"]
        person.press(Key.Key_Z, CTRL)
        await until(lambda: attached(person) == ["app.py", "two words.md"])

        # Nothing outside of the folder, nothing that git ignores, no links.
        person.type("@secret")
        assert offered(person) == []
        person.press(Key.Key_Escape)
        composer.set_text(composer.text.split("@secret")[0])
        for name in ("out.js", "run.log", "link.txt", "HEAD"):
            person.type(f"@{name}")
            assert offered(person) == [], name
            composer.set_text(composer.text.split(f"@{name}")[0])

        # Esc closes it for this word; an agent answers this message alone, which begins with its name.
        person.type("@rev")
        await until(lambda: offered(person) == ["Reviewer"])
        person.press(Key.Key_Escape)
        assert not offered(person) and editor.accessibleDescription() == editor.placeholder
        person.type("i")
        assert not offered(person)
        for _ in range(5):
            person.press(Key.Key_Backspace)
        person.type("@rev")
        QTest.mouseClick(
            box(person).list.viewport(), Qt.MouseButton.LeftButton, pos=middle(person, "Reviewer")
        )
        assert composer.text.startswith("@Reviewer ") and "@rev" not in composer.text
        assert editor.hasFocus() and len(editor.extraSelections()) == 3

        await until(lambda: not person.window.chat.model.attachments.reading)
        person.press(Key.Key_Return)
        await person.done()
        (said,) = person.blocks(UserBlock)
        assert [part.name for part in said.said if isinstance(part, File)] == [
            "app.py", "two words.md",
        ]  # fmt: skip
        sent = json.dumps(person.exchanges[0].json)
        assert "This is src/app.py." in sent and "This is src/deep/two words.md." in sent
        assert r"See @src/app.py and @src/deep/two\\ words.md" in sent
        assert person.session.info.agent == "Coder" and not attached(person)
        assert [one.agent for one in person.blocks(AgentBlock)] == ["Reviewer"]
        person.say("And now?")
        await person.done(2)
        assert [one.agent for one in person.blocks(AgentBlock)] == ["Reviewer", "Coder"]
        systems = [json.dumps(one.json["system"]) for one in person.exchanges]
        assert "You review code" in systems[0] and "careful software engineer" in systems[1]
        assert not person.simulator.violations

        # A file that became a link out of the folder is refused when it is chosen.
        person.type("@notes")
        await until(lambda: offered(person) == ["notes.md"])
        (person.folder / "notes.md").unlink()
        (person.folder / "notes.md").symlink_to(tmp_path / "secret.txt")
        person.press(Key.Key_Return)
        items = person.window.chat.model.attachments.items
        await until(lambda: items[0].state == "error")
        assert "outside" in items[0].problem


@on_window_loop
async def test_commands_after_a_slash_are_the_actions_of_the_window(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", [Turn(Text("One."))]) as person:
        composer = person.composer
        person.type("/")
        await until(lambda: offered(person))
        assert offered(person)[:3] == ["/new", "/agent", "/model"] and "/help" in offered(person)
        assert not {"/undo", "/find", "/branch", "/export"} & set(offered(person))  # not yet
        person.type("effort")  # the word, or what it does
        assert chosen(person) == "/effort"
        composer.set_text("/")
        person.press(Key.Key_End)
        person.type("set")
        assert chosen(person) == "/settings"
        person.press(Key.Key_Tab)
        dialog = await until(lambda: person.window.preferences.dialog)
        assert composer.text == ""
        dialog.close()
        person.window.activateWindow()
        await until(person.window.isActiveWindow)
        composer.setFocus()
        person.type("/usr/bin is what?")
        assert not offered(person)
        person.press(Key.Key_Return, SHIFT)
        person.type("/")
        assert not offered(person)  # only the first line begins with a command
        composer.set_text("")
        person.say("/nothing like it")
        await person.done()
        assert "/nothing like it" in person.asked[0]

        person.type("/mod")
        person.press(Key.Key_Return)
        picker = await until(lambda: person.window.chat.menus.picker)
        assert picker.isVisible()
        picker.close()
        person.window.activateWindow()
        await until(person.window.isActiveWindow)
        composer.setFocus()

        (person.folder / "a.txt").write_text("words")
        composer.attachments.add_paths([str(person.folder / "a.txt")])
        await until(lambda: not person.window.chat.model.attachments.reading)
        person.type("/det")
        person.press(Key.Key_Return)
        assert not attached(person) and composer.text == ""

        person.type("/exp")
        person.press(Key.Key_Return)
        dialog = await until(lambda: person.window.chat_list._chooser)
        assert dialog.selectedFiles() == [str(Path.home() / "nothing like it.md")]
        dialog.fileSelected.emit(str(tmp_path / "chat.md"))
        dialog.close()
        await until((tmp_path / "chat.md").exists)
        assert "/nothing like it" in (tmp_path / "chat.md").read_text()
        person.window.activateWindow()
        await until(person.window.isActiveWindow)

        first = person.session.info.id
        composer.setFocus()
        person.type("/bra")
        person.press(Key.Key_Return)
        await until(lambda: person.session.info.id != first)
        assert person.session.info.parent == first and composer.text == ""


@on_window_loop
async def test_a_command_is_found_by_its_word_in_each_language(tmp_path: Path) -> None:
    with language("de"):
        async with at_window(tmp_path, "anthropic", []) as person:
            for typed in ("model", "modell", "erlaubnis"):
                person.composer.set_text("")
                person.type(f"/{typed}")
                wanted = "/mode" if typed == "erlaubnis" else "/model"
                await until(lambda: offered(person))
                assert chosen(person) == wanted


def middle(person: Person, title: str) -> QPoint:
    rows = box(person).results.rows
    at = next(
        n for n, row in enumerate(rows) if not isinstance(row, str) and row.entry.title == title
    )
    return box(person).list.visualRect(box(person).results.index(at)).center()


@on_window_loop
async def test_without_a_folder_there_are_folders_agents_and_files_to_attach(
    tmp_path: Path,
) -> None:
    recent = tmp_path / "recent"
    recent.mkdir()
    (recent / "plan.md").write_text("Plan.")

    def setup(file: SettingsFile) -> None:
        file.values.last_folder = str(tmp_path / "gone")
        file.values.recent_folders = [str(recent)]

    async with at_window(tmp_path, "anthropic", [], setup=setup) as person:
        options = person.window.chat.model.options
        await until(lambda: options.uses_own_folder)
        person.type("@")
        await until(lambda: offered(person))
        found = offered(person)
        assert found[0].endswith("recent") and found[1:3] == ["Choose folder…", "Attach files…"]
        assert "Coder" in found
        heads = [row for row in box(person).results.rows if isinstance(row, str)]
        assert heads[0] == "Folders: choose one to name its files"
        person.press(Key.Key_Return)
        assert options.folder == str(recent) and not person.composer.text
        person.type("@")
        await until(lambda: offered(person)[:1] == ["plan.md"])


async def with_server(person: Person) -> None:
    """The SDK's server is on, and was seen."""
    servers = person.engine.services.servers
    await servers.put(replace(sdk_server(), on=False, approved=""))
    await servers.connect(await servers.switch_on((await servers.refresh()).by_name["simple"]))


@on_window_loop
async def test_m21_resources_of_servers_are_named_after_an_at_sign(tmp_path: Path) -> None:
    """A template stays open, and the server says how its address can go on."""
    async with at_window(tmp_path, "anthropic", lambda _: Turn(Text("One."))) as person:
        await with_server(person)
        person.type("See @note")
        await until(lambda: "simple:note://today" in offered(person))
        assert "simple:note://{day}" in offered(person)
        while chosen(person) != "simple:note://{day}":
            person.press(Key.Key_Down)
        person.press(Key.Key_Return)
        assert person.composer.text == "See @simple:note://"
        person.type("tu")
        await until(lambda: "simple:note://tuesday" in offered(person))
        while chosen(person) != "simple:note://tuesday":
            person.press(Key.Key_Down)
        person.press(Key.Key_Return)
        assert person.composer.text == "See @simple:note://tuesday "
        await until(lambda: not person.window.chat.model.attachments.reading)
        assert attached(person) == ["simple:note://tuesday"]
        person.press(Key.Key_Return)
        session = await until(lambda: person.window.chat.session)
        await until(lambda: session.transcript.blocks and not session.running)
        said = next(one for one in session.transcript.blocks if isinstance(one, UserBlock))
        (file,) = [one for one in said.said if isinstance(one, File)]
        assert b"Nothing on tuesday" in file.data


@on_window_loop
async def test_m21_a_prompt_of_a_server_is_filled_in(tmp_path: Path) -> None:
    """Its arguments are asked for, with what the server says that they may be."""
    async with at_window(tmp_path, "anthropic", lambda _: Turn(Text("One."))) as person:
        await with_server(person)
        person.type("/forec")
        await until(lambda: "/simple:forecast" in offered(person))
        person.press(Key.Key_Return)
        dialog = await until(lambda: person.window.findChild(PromptDialog))
        city = dialog.form.rows["city"].line
        assert city is not None
        dialog.accept()
        assert dialog.form.rows["city"].problem.isVisible()  # it is needed
        QTest.keyClicks(city, "Be")
        completer = dialog.completers["city"]
        await until(lambda: completer.completionCount() == 2)
        popup = completer.popup()
        assert popup is not None
        await until(popup.isVisible)
        QTest.keyClick(popup, Key.Key_Down)
        QTest.keyClick(popup, Key.Key_Return)
        assert city.text() in ("Berlin", "Bern")  # and the form is still there
        assert dialog.isVisible()
        city.setText("Berlin")
        QTest.keyClick(city, Key.Key_Return)
        await until(lambda: person.composer.text == "/simple:forecast city=Berlin ")
        person.window.chat.model.submit()  # offscreen no window gets the keyboard back
        session = await until(lambda: person.window.chat.session)
        await until(lambda: session.transcript.blocks and not session.running)
        said = next(one for one in session.transcript.blocks if isinstance(one, UserBlock))
        (file,) = [one for one in said.said if isinstance(one, File)]
        assert file.invoked
        assert b"Tell the weather of Berlin in C." in file.data
