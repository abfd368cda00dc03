"""Policies of packs for requests, and what roles may use (KZ-6, KZ-7)."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import studio
from studio.domain.events import AwaitingPermission, Failed, TextDelta, ToolFinished, TurnComplete
from studio.domain.messages import Image
from studio.domain.messages import Text as Words
from studio.extensions.packs.loading import ProgramPacks
from studio.simulator import Call, Text, Turn
from studio.tools import Context, ToolFailed, Workspace
from support.delegation_home import agent, delegate, save
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say
from support.pack_home import install_code

CHAT = "openai-compatible"
ABOUT = "guard:file/1"
ALLOW = "permissions: {allow: [remember, notes_read]}"
ALLOWS = """
from studio.packs import ALLOWED, Pack, RequestPolicy, Verdict

class Policy(RequestPolicy):
    def ask(self, request, home):
        if request.subject and request.purpose not in @PURPOSES@:
            return Verdict(f"No {request.purpose} of {request.subject} at {request.provider}.")
        assert request.local, "the simulator is on this computer"
        return ALLOWED

pack = Pack(policy=Policy())
"""
MASKS = '''
from studio.packs import Context, Mask, Pack, RequestPolicy, Verdict, tool

class Names(Mask):
    def hide(self, text):
        return text.replace("Ada", "[Person 1]")
    def show(self, text):
        return text.replace("[Person 1]", "Ada")

class Policy(RequestPolicy):
    def ask(self, request, home):
        return Verdict(mask=Names())

@tool(effect="read")
def greet(context: Context, name: str) -> str:
    """Greet somebody.

    name: Ada, for example.
    """
    return f"Hello {name}, says the tool." if name == "Ada" else f"Who is {name}?"

pack = Pack(policy=Policy())
'''


def allow(home: EngineHome, tmp_path: Path, *purposes: str) -> None:
    install_code(home, tmp_path, ALLOWS.replace("@PURPOSES@", repr(purposes)))


async def test_a_refused_request_is_sent_nowhere(tmp_path: Path) -> None:
    """KZ-7: the person reads why, and a chat about nothing goes on."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good."))]) as home:
        allow(home, tmp_path)
        session = await home.session()
        await session.change(subject=ABOUT)
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert failed.title == f"No turn of {ABOUT} at {CHAT}."
        assert not home.asked
        await say(await home.session())
        assert len(home.asked) == 1


async def test_requests_beside_the_turn_are_asked_about_too(tmp_path: Path) -> None:
    """KZ-7: titles, summaries and routing."""
    script = [Turn(Text(f"An answer, number {n}. " * 400)) for n in range(9)]
    async with engine_home(tmp_path, CHAT, script) as home:
        allow(home, tmp_path, "turn")
        values = home.engine.settings.values
        values.write_titles = values.routing = True
        values.routing_model = f"{CHAT}/sim-model"
        values.tiers = {"small": f"{CHAT}/sim-model"}
        session = await home.session()
        await session.change(subject=ABOUT)
        await say(session, "Why are plants green?")
        assert len(home.asked) == 1, "no model was asked which one fits"
        assert not await home.engine.name_chat(session)
        for _ in range(3):
            await say(session, "And now?")
        sent = len(home.asked)
        await session.context.summarise()
        assert len(home.asked) == sent == 4
        # The same, where the policy allows it, does ask.
        other = await home.session()
        await say(other, "Why are plants green?")
        assert len(home.asked) == sent + 2
        await home.engine.name_chat(other)
        assert len(home.asked) == sent + 3


async def test_a_child_is_asked_about_as_its_caller(tmp_path: Path) -> None:
    """KZ-7: its requests are about the same."""
    own = tmp_path / "studio" / "agents"
    save(own, agent("Lead", "agents: [Helper]"), agent("Helper"))
    script = [Turn(delegate("Helper", "Count")), Turn(Text("Never."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        install_code(home, tmp_path, ONCE)
        session = await home.session("Lead")
        await session.change(subject=ABOUT)
        await say(session, answer="once")
        assert len(home.asked) == 1
        told = (tmp_path / "guard" / "org.agent-studio" / "told").read_text().split()
        assert set(told) == {ABOUT} and len(told) > 2, "the child, and the caller again"


ONCE = """
from studio.packs import ALLOWED, Pack, RequestPolicy, Verdict

class Policy(RequestPolicy):
    def ask(self, request, home):
        with (home.folder / "told").open("a") as file:
            file.write(request.subject + "\\n")
        told = (home.folder / "told").read_text().split()
        return ALLOWED if len(told) == 1 else Verdict("No more.")

pack = Pack(policy=Policy())
"""


async def test_what_nobody_can_answer_for_is_not_sent(tmp_path: Path) -> None:
    """KZ-7: a policy that fails, and a pack that is off."""
    code = ALLOWS.replace("if request.subject and request.purpose not in @PURPOSES@", "if 1 / 0")
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good."))]) as home:
        install_code(home, tmp_path, code)
        session = await home.session()
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert "ZeroDivisionError" in failed.title
        install_code(
            home, tmp_path, MASKS.replace('text.replace("Ada", "[Person 1]")', "1 / 0"), "m"
        )
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert "ZeroDivisionError" in failed.title and "A pack could not say" in failed.title
        await session.change(subject="gone:file/2")
        home.engine.services.packs.source = ProgramPacks(lambda: ())
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert "the pack “gone”, which is not on" in failed.title
        assert not home.asked


@pytest.mark.parametrize("provider", ["anthropic", CHAT, "openai", "gemini"])
async def test_a_mask_covers_the_whole_request(tmp_path: Path, provider: str) -> None:
    """KZ-7: what leaves has no name in it; the person and the tools have the words."""
    script = [
        Turn(Text("I greet [Person"), Text(" 1] now."), Call("greet", {"name": "[Person 1]"})),
        Turn(Text("Done for [Person 1].")),
        Turn(Call("greet", {"name": "Ada"})),  # the model may know the name
        Turn(Text("Again [nobody].")),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        install_code(home, tmp_path, MASKS)
        session = await home.session()
        events = [*await say(session, "Greet Ada"), *await say(session, "Ada again")]
        assert len(home.asked) == 4
        for one in home.asked:
            assert "Ada" not in str(one.json) and "[Person 1]" in str(one.json)
        said = "".join(one.text for one in events if isinstance(one, TextDelta))
        assert said == "I greet Ada now.Done for Ada.Again [nobody]."
        done = [one.text for one in events if isinstance(one, ToolFinished)]
        assert done == ["Hello Ada, says the tool."] * 2
        assert all(one.reason == "done" for one in events if isinstance(one, TurnComplete))


async def test_what_a_chat_is_about_is_not_noted_for_others(tmp_path: Path) -> None:
    """KZ-7: notes are read by every chat in the folder, with whichever model it has."""
    note = Turn(Call("remember", {"name": "ada", "text": "Ada lives in Bonn."}))
    look = Turn(Call("notes_read", {"word": ""}))
    script = [note, Turn(Text("Noted.")), look, Turn(Text("There."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        allow(home, tmp_path, "turn")
        save(home.engine.paths.agents, agent("Keeper", ALLOW, "remember, notes_read"))
        session = await home.session("Keeper")
        await session.change(subject=ABOUT)
        (kept,) = [one for one in await say(session) if isinstance(one, ToolFinished)]
        assert kept.is_error and "nothing of it is noted" in kept.text, kept.text
        other = await say(await home.session("Keeper"))
        (found,) = [one for one in other if isinstance(one, ToolFinished)]
        assert found.text == "There are no such notes."


HOSTED = ALLOWS.replace(
    'assert request.local, "the simulator is on this computer"',
    'return ALLOWED if request.local else Verdict(f"{request.model} is not here.")',
).replace("@PURPOSES@", "()")


async def test_a_model_that_ollama_has_hosted_is_not_local(tmp_path: Path) -> None:
    """KZ-7: the program on this computer only passes on what it is sent."""
    async with engine_home(tmp_path, "ollama", [Turn(Text("Good."))]) as home:
        install_code(home, tmp_path, HOSTED)
        session = await home.session()
        await say(session)
        assert len(home.asked) == 1
        await session.change(model="gpt-oss:120b-cloud")
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert failed.title == "gpt-oss:120b-cloud is not here." and len(home.asked) == 1


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_picture_is_not_sent_behind_a_mask(tmp_path: Path, provider: str) -> None:
    """KZ-7: words are in its place, also later; the person's own history keeps it."""
    async with engine_home(tmp_path, provider, [Turn(Text("Good."))] * 2) as home:
        install_code(home, tmp_path, MASKS)
        session = await home.session()
        size = b"\0\0\0\x01\0\0\0\x01"
        pixel = Image("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"0" * 40)
        events = [one.event async for one in session.turn([pixel, Words("Ada is here")])]
        events += await say(session, "And now?")
        assert not [one for one in events if isinstance(one, Failed)]
        native = await home.engine.store.native(session.info.id)
        assert native is not None and "iVBOR" in str(native.items) and "Ada" in str(native.items)
        shown = await home.engine.services.gate("").as_sent(native.items, provider, "sim-model")
        assert len(home.asked) == 2
        for sent in (*(str(one.json) for one in home.asked), str(shown)):
            assert "iVBOR" not in sent and "Ada" not in sent and "It was not sent" in sent


def test_there_is_one_way_to_a_provider() -> None:
    """KZ-7: no other code of the studio begins a request; a replay reads a record.

    A worker of a cluster sends what its coordinator has had judged and masked.
    """
    found: set[str] = set()
    package = Path(studio.__file__).parent
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0]
        if room in ("providers", "simulator", "ui", "mcp"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of = ast.unparse(node.func.value)
                if node.func.attr == "stream" and of.endswith("provider"):
                    found.add(path.relative_to(package).as_posix())
    sent = {"workflows/session_replay.py", "workflows/cluster/worker.py"}
    assert found == {"agent/request_gate.py", *sent}


ASKS = """
import json
from studio.packs import ALLOWED, Pack, RequestPolicy, Verdict

class Policy(RequestPolicy):
    def ask(self, request, home):
        line = [request.purpose, request.provider, request.address, request.agent, request.words]
        with (home.folder / "told").open("a") as file:
            file.write(json.dumps(line) + "\\n")
        if "secret" in request.words:
            return Verdict("Not that.")
        return Verdict(asks="A name.") if "Ada" in request.words else ALLOWED

pack = Pack(policy=Policy())
"""


async def test_a_policy_knows_who_asks_in_which_words_and_may_have_the_person_asked(
    tmp_path: Path,
) -> None:
    """KZ-7, KZ-40: of requests, of calls that can send data out, and of no other calls."""
    calls = [
        *(Call("fetch", {"url": f"https://a.example/{name}"}) for name in ("Ada", "secret")),
        Call("list", {"path": "Ada"}),
    ]
    async with engine_home(tmp_path, CHAT, [Turn(*calls), Turn(Text("Done."))]) as home:
        install_code(home, tmp_path, ASKS)
        save(
            home.engine.paths.agents,
            agent("Reader", "permissions: {allow: [fetch]}", "fetch, list"),
        )
        session = await home.session("Reader")
        events = await say(session, "Read it", answer="deny")
        (asked,) = [one.question for one in events if isinstance(one, AwaitingPermission)]
        assert asked.why == "A pack asks about it: A name."
        done = [one.text for one in events if isinstance(one, ToolFinished)]
        assert "The person did not allow this" in "".join(done) and "Not that." in done
        lines = (tmp_path / "guard" / "org.agent-studio" / "told").read_text().splitlines()
        told = [json.loads(one) for one in lines]
        page = "https://a.example/"
        # Calls of one turn are judged at the same time, so that either may be told first.
        assert sorted(one for one in told if one[0] == "call") == [
            ["call", "fetch", f"{page}{name}", "Reader", json.dumps({"url": f"{page}{name}"})]
            for name in ("Ada", "secret")
        ]
        turn = ["turn", CHAT, home.engine.providers.base_url(CHAT), "Reader", "Read it"]
        assert [one for one in told if one[0] == "turn"] == [turn, turn]
        (failed,) = [one for one in await say(session, "Ada") if isinstance(one, Failed)]
        assert failed.title == "A name." and len(home.asked) == 2


ROLES = '''
from studio.packs import Context, Pack, Person, tool

@tool(effect="read")
def look(context: Context) -> str:
    """Look."""
    return f"{context.person.name} looks"

@tool(effect="note", verb="Noting", done="Noted")
def keep(context: Context, text: str) -> str:
    """Keep a note."""
    return "kept"

def person(home):
    return Person("7", "Kim", (home.folder / "role").read_text())

pack = Pack(person=person, roles={"all": ("*",), "reader": ("look",)})
'''


async def test_a_role_of_the_pack_and_that_of_the_agent_both_count(tmp_path: Path) -> None:
    """KZ-6: and a role that ends while a turn runs ends there."""
    script = [Turn(Call("look", {})), Turn(Text("Done.")), *[Turn(Text("Good."))] * 3]
    async with engine_home(tmp_path, CHAT, script) as home:
        install_code(home, tmp_path, ROLES)
        role = tmp_path / "guard" / "org.agent-studio" / "role"

        def offered() -> set[str]:
            return {t["function"]["name"] for t in home.asked[-1].json["tools"]} & {"look", "keep"}

        role.write_text("all")
        events = await say(await home.session())
        assert [one.text for one in events if isinstance(one, ToolFinished)] == ["Kim looks"]
        assert offered() == {"look", "keep"}
        role.write_text("reader")
        await say(await home.session())
        assert offered() == {"look"}
        role.write_text("nobody")
        await say(await home.session())
        assert offered() == set()
        tool = home.engine.tools()["look"]
        with pytest.raises(ToolFailed, match="Kim may not use look as “nobody”"):
            await tool.call(Context(Workspace(home.folder)), {})
        role.write_text("all")
        save(tmp_path / "studio" / "agents", agent("Reader", "role: reads", "own"))
        await say(await home.session("Reader"))
        assert offered() == {"look"}


async def test_names_are_not_masked_and_values_of_schemas_are(tmp_path: Path) -> None:
    """KZ-7: a value that a call may have is hidden and shown again; a name cannot be hidden."""
    code = MASKS.replace("name: str) -> str", "name: Literal['Ada', 'Bo'] = 'Ada') -> str")
    code = f"from typing import Literal\n{code}"
    script = [Turn(Call("greet", {"name": "[Person 1]"})), Turn(Text("Done."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        install_code(home, tmp_path, code)
        said = [e for e in await say(await home.session()) if isinstance(e, ToolFinished)]
        assert said[0].text == "Hello Ada, says the tool."
        assert "Ada" not in repr(home.asked) and "[Person 1]" in repr(home.asked)
    for named in ("def Ada(context: Context, name: str)", "def greet(context: Context, Ada: str)"):
        code = MASKS.replace("def greet(context: Context, name: str)", named)
        code = code.replace("    name: Ada, for example.\n", "").replace("name == ", "'x' == ")
        code = code.replace("{name}", "you")
        place = tmp_path / named[4:7]
        place.mkdir()
        async with engine_home(place, CHAT, [Turn(Text("Never."))]) as home:
            install_code(home, place, code)
            (failed,) = [e for e in await say(await home.session()) if isinstance(e, Failed)]
            assert "“Ada”, cannot be masked, so this was not sent" in failed.title + failed.detail
            assert not home.asked


async def test_a_policy_that_cannot_be_loaded_lets_nothing_out(tmp_path: Path) -> None:
    """KZ-7: also in a chat about nothing of the pack; code that names no policy stops nothing."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good."))]) as home:
        install_code(home, tmp_path, f"{MASKS}\nraise RuntimeError('broken')\n")
        (failed,) = [e for e in await say(await home.session()) if isinstance(e, Failed)]
        told = failed.title + failed.detail
        assert "“guard” says who may see" in told and "broken" in told and not home.asked
        install_code(home, tmp_path / "other", "raise RuntimeError('broken')\n", "plain")
        await say(await home.session())
        assert len(home.asked) == 1


async def test_a_client_of_a_bare_model_is_held_by_a_policy_that_came_since(tmp_path: Path) -> None:
    """KZ-7: its turns have no tools, and the program may have run for days."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good."))] * 2) as home:
        session = await home.engine.sessions.create(
            folder=str(home.folder),
            agent="Plain",
            provider=CHAT,
            model="sim-model",
            origin="server",
        )
        await say(session)
        assert len(home.asked) == 1
        install_code(home, tmp_path, f"{MASKS}\nraise RuntimeError('broken')\n")
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert "says who may see" in failed.title + failed.detail and len(home.asked) == 1
