"""Installing, approving, updating, switching and removing packs (X-2)."""

from __future__ import annotations

import json
import os
import stat
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from studio.extensions.hooks.finder import pack_hooks
from studio.extensions.packs.brought import code_places
from studio.extensions.packs.fetching import ManyPacks
from studio.extensions.packs.host import HostEntries
from studio.extensions.packs.installed import InstalledPack, InstalledPacks, Offer
from studio.extensions.packs.manifest import PackError
from studio.extensions.packs.origins import Brought, Origin
from support.pack_files import OURS, commit_pack, write_pack, zip_pack


@pytest.fixture
def packs(tmp_path: Path) -> InstalledPacks:
    return InstalledPacks(tmp_path / "data" / "packs")


def install(packs: InstalledPacks, origin: Path | str, name: str = "") -> InstalledPack:
    return packs.add(packs.look(str(origin), name))


def staged(packs: InstalledPacks) -> list[Path]:
    return list((packs.folder / ".staged").iterdir())


def test_the_text_shows_all_that_a_pack_brings_before_it_is_installed(
    packs: InstalledPacks, tmp_path: Path
) -> None:
    offer = packs.look(str(write_pack(tmp_path / "pack", color="red")))
    for words in (
        "The office 1.0.0 (office)",
        "deed: Writes deeds. For contracts.",
        "review-deed: Reviews a deed",
        "Clerk: Keeps the office's files",
        "allow: read(*.md)",
        "Intake",
        "files: ${PLUGIN_ROOT}/bin/server --data ${PLUGIN_DATA}/x",
        "PreToolUse Bash: echo checked",
        "def count() -> int:",
        "CREATE TABLE deed",
        "fees.csv",
        "Hosts it would like to reach: example.com",
        "color",
        "bin/server (17 bytes, a program)",
        "leads out of the pack",
    ):
        assert words in offer.text, words
    assert not packs.list()  # nothing is installed by looking
    packs.forget(offer)
    assert not staged(packs)


def test_no_pack_is_looked_at_where_none_is_on(tmp_path: Path) -> None:
    """S-5: each turn asks for what packs bring, and `run` did so before its first request."""
    looked: list[Path] = []

    def brought() -> Iterator[Brought]:
        looked.append(tmp_path)
        yield Brought(Origin("shipped", "pack"), write_pack(tmp_path / "pack"))

    packs = InstalledPacks(tmp_path / "data" / "packs", brought)
    hosts = HostEntries(packs, lambda: "")
    assert not packs.places("skills") and not packs.servers().by_name
    assert not pack_hooks(packs) and not hosts() and not [*code_places(packs)]
    assert not looked
    packs.switch("office", True)
    assert packs.places("skills") and pack_hooks(packs) and [*code_places(packs)]
    packs.switch("office", False)
    looked.clear()
    assert not packs.places("skills") and not pack_hooks(packs)
    assert not looked


def test_a_pack_is_a_copy_of_what_was_approved(packs: InstalledPacks, tmp_path: Path) -> None:
    source = write_pack(tmp_path / "pack")
    pack = install(packs, source)
    assert (pack.on, pack.runs, pack.origin.kind) == (True, True, "folder")
    assert not staged(packs)
    (source / "skills/deed/SKILL.md").write_text("changed")
    assert packs.get("office").runs
    # The copy was changed by somebody: it is not what the person approved.
    (pack.manifest.folder / "skills/deed/SKILL.md").write_text("changed")
    assert not packs.get("office").runs
    assert not packs.places("skills")
    with pytest.raises(PackError, match="not what you approved"):
        packs.switch("office", on=True)
    assert packs.approve("office", packs.get("office").digest).runs


@pytest.mark.parametrize("way", ["another name", "a program", "same size and time"])
def test_x2_nothing_of_an_approved_pack_changes_unseen(
    packs: InstalledPacks, tmp_path: Path, way: str
) -> None:
    """X-2: names and what may be run count, and a change that hides behind its time is seen."""
    pack = install(packs, write_pack(tmp_path / "pack"))
    assert packs.get("office").runs
    file = pack.manifest.folder / "skills/deed/sample.txt"
    if way == "another name":
        file.rename(file.with_name("other.txt"))
    elif way == "a program":
        if sys.platform == "win32":
            pytest.skip("There a file's name says that.")
        file.chmod(0o700)
    else:
        before = file.stat()
        file.write_text("SAMPLE")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        if sys.platform == "win32":
            packs = InstalledPacks(packs.folder)
    assert not packs.get("office").runs and not packs.places("skills")


def test_x2_an_update_is_the_same_pack_and_stays_off(packs: InstalledPacks, tmp_path: Path) -> None:
    """X-2: nothing is switched on by it, and another pack at the same place is another."""
    source = write_pack(tmp_path / "pack")
    install(packs, source)
    packs.switch("office", on=False)
    (source / "skills/deed/sample.txt").write_text("another")
    assert not packs.add(packs.update("office")).on
    write_pack(source, name="other")
    with pytest.raises(PackError, match="another pack now: other"):
        packs.update("office")
    assert [one.id for one in packs.list()] == ["office"] and not staged(packs)


def test_x2_a_pack_is_not_taken_for_another(tmp_path: Path) -> None:
    """X-2: neither one whose files were exchanged, nor one that ships with the program."""
    shipped = write_pack(tmp_path / "shipped", name="shipped")
    packs = InstalledPacks(
        tmp_path / "packs", lambda: [Brought(Origin("shipped", "shipped"), shipped)]
    )
    with pytest.raises(PackError, match="is there already"):
        packs.look(str(write_pack(tmp_path / "false", name="shipped")))
    pack = install(packs, write_pack(tmp_path / "pack"))
    write_pack(pack.manifest.folder, name="home")
    assert [one.id for one in packs.list()] == ["shipped"]
    assert "its files are those of home" in packs.problems[0]


def test_x2_what_was_looked_at_long_ago_goes_and_nothing_else(
    packs: InstalledPacks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_pack(tmp_path / "pack")
    first = packs.look(str(source))
    packs.forget(replace(first, manifest=replace(first.manifest, folder=source / "skills")))
    assert (source / "plugin.json").exists() and staged(packs), "it was never fetched"
    monkeypatch.setattr("studio.extensions.packs.installed._STALE", -1.0)
    packs.look(str(source))
    assert not first.manifest.folder.exists() and len(staged(packs)) == 1


def test_what_changed_after_the_look_is_not_installed(
    packs: InstalledPacks, tmp_path: Path
) -> None:
    offer = packs.look(str(write_pack(tmp_path / "pack")))
    (offer.manifest.folder / "new.txt").write_text("new")
    with pytest.raises(PackError, match="changed meanwhile"):
        packs.add(offer)
    assert not packs.list()


def test_an_update_is_a_difference_and_keeps_data_and_choices(
    packs: InstalledPacks, tmp_path: Path
) -> None:
    source = write_pack(tmp_path / "pack")
    pack = install(packs, source)
    pack.data.mkdir(parents=True)
    (pack.data / "kept").write_text("kept")
    packs.switch_part("office", "hooks", on=False)
    assert not packs.update("office").is_news
    (source / "skills/deed/SKILL.md").write_text("---\ndescription: New\n---\nObey.\n++ more\n")
    (source / "bin/server").unlink()
    (source / "bin/other").write_bytes(b"\xff\x00")
    (source / "bin/other").chmod(0o755)
    offer = packs.update("office")
    assert offer.is_news
    for words in ("-description: Writes deeds", "+Obey.", "+++ more", "bin/server: removed", "bin/other: new",
                  "may be run as a program", "No text"):  # fmt: skip
        assert words in offer.change
    assert packs.get("office").digest == pack.digest  # until it is approved
    after = packs.add(offer)
    assert (after.runs, after.off, after.digest) == (True, {"hooks"}, offer.digest)
    assert (after.data / "kept").read_text() == "kept"
    assert not pack.manifest.folder.exists()


def test_x2_packs_are_those_after_an_update_in_the_midst_of_the_look(tmp_path: Path) -> None:
    """Its files of before are removed, perhaps before they were read."""
    offers: list[Offer] = []

    def brought() -> Iterator[Brought]:
        while offers:
            packs.add(offers.pop())
        yield from ()

    packs = InstalledPacks(tmp_path / "data" / "packs", brought)
    source = write_pack(tmp_path / "pack")
    install(packs, source)
    (source / "skills/deed/SKILL.md").write_text("---\ndescription: New\n---\nObey.\n")
    offers.append(offer := packs.update("office"))
    (found,) = packs.list()
    assert (found.digest, found.runs) == (offer.digest, True)
    assert found.manifest.folder.exists()


def test_parts_and_packs_switch_off_and_listeners_hear_it(
    packs: InstalledPacks, tmp_path: Path
) -> None:
    install(packs, write_pack(tmp_path / "pack"))
    heard: list[int] = []
    packs.listen(lambda: heard.append(1))
    assert packs.places("agents")[0].name == "The office"
    packs.switch_part("office", "agents", on=False)
    assert not packs.places("agents")
    assert packs.places("skills")
    packs.switch("office", on=False)
    assert not packs.places("skills")
    packs.switch("office", on=True)
    packs.switch_part("office", "agents", on=True)
    assert packs.places("agents")
    assert len(heard) == 4
    with pytest.raises(PackError, match="brings no pages"):
        packs.switch_part("office", "pages", on=False)
    with pytest.raises(PackError, match="Known are: office"):
        packs.switch("home", on=False)


def test_a_server_keeps_its_name_when_another_pack_brings_the_same(
    packs: InstalledPacks, tmp_path: Path
) -> None:
    """M-12, X-2: rules and the person's yes are for the one that was there first."""
    install(packs, write_pack(tmp_path / "one", name="zebra"))
    install(packs, write_pack(tmp_path / "two", name="ape"))
    servers = packs.servers()
    assert servers.by_name["files"].place == "pack:zebra"
    assert any("a server files is there already" in one for one in servers.problems)


def test_removal_keeps_data_and_says_where(packs: InstalledPacks, tmp_path: Path) -> None:
    source = write_pack(tmp_path / "pack")
    pack = install(packs, source)
    assert packs.remove("office") is None  # it had none
    pack = install(packs, source)
    pack.data.mkdir(parents=True)
    pack.records.write_bytes(b"records")
    assert packs.remove("office") == pack.home
    assert pack.records.read_bytes() == b"records"
    assert not packs.list()
    assert not pack.manifest.folder.exists()
    assert install(packs, source).records.read_bytes() == b"records"  # found again
    assert packs.remove("office", with_data=True) is None
    assert not pack.home.exists()


def test_packs_of_the_program_and_of_its_environment_stay_where_they_are(tmp_path: Path) -> None:
    shipped = write_pack(tmp_path / "shipped", name="shipped")
    other = write_pack(tmp_path / "other", name="other")
    found = [
        Brought(Origin("shipped", "shipped"), shipped),
        Brought(Origin("distribution", "other 1.0"), other),
    ]
    packs = InstalledPacks(tmp_path / "packs", lambda: found)
    assert [(one.id, one.runs) for one in packs.list()] == [("other", False), ("shipped", False)]
    assert packs.switch("shipped", on=True).runs  # it came with the program
    assert not packs.get("shipped").digest  # nobody has to approve it: a start reads no file of it
    (shipped / "skills/newer").mkdir()
    (shipped / "skills/newer/SKILL.md").write_text("That of a newer program")

    def skills(known: InstalledPacks) -> list[str]:
        return [one.parent.name for one in known.get("shipped").manifest.parts()["skills"].files]

    assert skills(packs) == ["deed"]  # read once: every turn looks several times
    assert skills(InstalledPacks(tmp_path / "packs", lambda: found)) == ["deed", "newer"]
    with pytest.raises(PackError, match="not what you approved"):
        packs.switch("other", on=True)
    assert packs.approve("other", packs.get("other").digest).runs
    (other / "skills/deed/SKILL.md").write_text("Another version")
    assert not packs.get("other").runs
    for refused in (packs.update, packs.remove):
        with pytest.raises(PackError):
            refused("other")


def test_x2_a_difference_hides_nothing_and_has_an_end(
    packs: InstalledPacks, tmp_path: Path
) -> None:
    """X-2: neither behind characters that turn the text around, nor behind its length."""
    source = write_pack(tmp_path / "pack")
    install(packs, source)
    (source / "skills/deed/sample.txt").write_text("rm -rf \u202e ~ \u200b#")
    change = packs.update("office").change
    assert "rm -rf" in change and not {"\u202e", "\u200b"} & {*change}
    for number in range(30):
        (source / f"{number}.txt").write_text("x\n" * 99)
    assert "More changed than is shown here" in packs.update("office").change


# Origins


def test_x2_no_link_brings_a_file_of_the_person_in(packs: InstalledPacks, tmp_path: Path) -> None:
    """X-2: a link out of the pack is left out, wherever it stands, and told."""
    (tmp_path / "id_rsa").write_text("secret")
    source = write_pack(tmp_path / "pack")
    (source / "skills/deed/key.txt").symlink_to(tmp_path / "id_rsa")
    (source / "skills/deed/again.txt").symlink_to("sample.txt")
    pack = install(packs, source)
    folder = pack.manifest.folder / "skills/deed"
    assert not os.path.lexists(folder / "key.txt")
    assert (folder / "again.txt").read_text() == "sample"
    assert "key.txt: a link leads out" in packs.look(str(source)).text


def test_x2_a_pack_of_hundreds_of_megabytes_is_refused(
    packs: InstalledPacks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.extensions.packs.contents.MOST_BYTES", 2_000_000)
    source = write_pack(tmp_path / "pack")
    (source / "big").write_bytes(bytes(2_000_001))
    with pytest.raises(PackError, match="more than 2 MB"):
        packs.look(str(source))
    assert not staged(packs)


def test_a_zip_file_is_read_also_one_of_the_folder(packs: InstalledPacks, tmp_path: Path) -> None:
    source = write_pack(tmp_path / "pack")
    folder = install(packs, source)
    for top in ("", "office-main/"):
        pack = install(packs, zip_pack(source, tmp_path / "office.zip", top))
        assert pack.origin.kind == "zip"
        assert pack.digest == folder.digest  # the same contents, whichever way they came
    if sys.platform != "win32":
        assert (pack.manifest.folder / "bin/server").stat().st_mode & stat.S_IXUSR


def test_zip_files_that_lead_out_or_grow_are_refused(packs: InstalledPacks, tmp_path: Path) -> None:
    path = zip_pack(write_pack(tmp_path / "pack"), tmp_path / "office.zip")
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr("../out.txt", "out")
        packed.writestr("/out.txt", "out")
        link = zipfile.ZipInfo("skills/link.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
    offer = packs.look(str(path))
    assert sum("leads out" in one for one in offer.manifest.problems) == 3
    assert not (packs.folder / ".staged" / "out.txt").exists()
    assert not os.path.lexists(offer.manifest.folder / "skills" / "link.txt")

    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("plugin.json", bytes(20_000_000))
    with pytest.raises(PackError, match="grows without measure"):
        packs.look(str(bomb))
    many = tmp_path / "many.zip"
    with zipfile.ZipFile(many, "w") as packed:
        for number in range(5_001):
            packed.writestr(f"{number}", "")
    with pytest.raises(PackError, match="more than 5,000 files"):
        packs.look(str(many))
    (tmp_path / "no.zip").write_text("no zip")
    with pytest.raises(PackError, match="no zip file"):
        packs.look(str(tmp_path / "no.zip"))
    assert len(staged(packs)) == 1  # only the offer that stands


def test_git_pins_the_commit(
    packs: InstalledPacks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_pack(tmp_path / "pack")
    first = commit_pack(source)
    hook = source / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    address = source.as_uri()
    pack = install(packs, address)
    assert (pack.origin.kind, pack.origin.commit) == ("git", first)
    assert not (pack.manifest.folder / ".git").exists()
    (source / "skills/deed/SKILL.md").write_text("---\ndescription: New\n---\nNew\n")
    second = commit_pack(source)
    # As where the program is started by a hook of another repository.
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert packs.get("office").origin.commit == first
    offer = packs.update("office")
    assert offer.origin.commit == second
    assert "+New" in offer.change
    packs.add(offer)
    assert not (tmp_path / "elsewhere").exists()
    old = packs.look(f"{address}#{first}")
    assert old.origin.commit == first
    with pytest.raises(PackError, match="git could not fetch"):
        packs.look(f"{address}#nothing")
    with pytest.raises(PackError, match="no branch"):
        packs.look(f"{address}#--upload-pack=touch x")
    with pytest.raises(PackError, match="no folder, no zip file"):
        packs.look("ext::sh -c touch% /tmp/x")


def test_a_marketplace_lists_packs(packs: InstalledPacks, tmp_path: Path) -> None:
    remote = write_pack(tmp_path / "remote", name="remote")
    commit = commit_pack(remote)
    market = tmp_path / "market"
    write_pack(market / "plugins" / "office")
    listed = {
        "name": "market",
        "plugins": [
            {"name": "office", "source": "./plugins/office"},
            {"name": "remote", "source": {"source": "url", "url": remote.as_uri(), "sha": commit}},
            {"name": "out", "source": "../remote"},
            {"name": "npm", "source": {"source": "npm", "package": "x"}},
        ],
    }
    (market / ".claude-plugin").mkdir()
    (market / ".claude-plugin" / "marketplace.json").write_text(json.dumps(listed))
    with pytest.raises(ManyPacks, match="npm, office, out, remote"):
        packs.look(str(market))
    assert install(packs, market, "office").origin.name == "office"
    pack = install(packs, market / ".claude-plugin" / "marketplace.json", "remote")
    assert (pack.origin.kind, pack.origin.commit) == ("git", commit)
    (remote / "skills/deed/sample.txt").write_text("newer")
    commit_pack(remote)
    assert not packs.update("remote").is_news  # it is looked for in the marketplace again
    for name, words in (("out", "not in the marketplace"), ("npm", "“npm”"), ("x", "has no pack")):
        with pytest.raises(PackError, match=words):
            packs.look(str(market), name)
    secret = "https://ada:hunter2@127.0.0.1:9/x.git"
    for source, words in (
        ({"source": "url", "url": f"ext::sh -c touch% {tmp_path}/ran"}, "no address for git"),
        ({"source": "url", "url": str(remote)}, "no address for git"),
        ({"source": "url", "url": secret}, "without it"),
        ({"source": "git-subdir", "url": remote.as_uri(), "path": "../.."}, "is not in"),
    ):
        listed["plugins"] = [{"name": "bad", "source": source}]
        (market / ".claude-plugin" / "marketplace.json").write_text(json.dumps(listed))
        with pytest.raises(PackError, match=words) as told:
            packs.look(str(market))
        assert "hunter2" not in str(told.value)
    assert not (tmp_path / "ran").exists()
    with pytest.raises(PackError, match="credential helper"):
        packs.look(secret)
    listed["plugins"] = [{"name": "office", "source": "./plugins/office"}]
    (market / ".claude-plugin" / "marketplace.json").write_text(json.dumps(listed))
    commit_pack(market)
    assert install(packs, market.as_uri(), "office").origin.kind == "git"


def test_a_damaged_pack_spoils_no_other(packs: InstalledPacks, tmp_path: Path) -> None:
    install(packs, write_pack(tmp_path / "pack"))
    broken = install(packs, write_pack(tmp_path / "broken", name="broken"))
    (broken.manifest.folder / "plugin.json").unlink()
    assert [one.id for one in packs.list()] == ["office"]
    assert packs.problems[0].startswith("broken: ")
    assert f"{OURS}" in str(packs.places("agents")[0].path)


def test_the_text_hides_no_agent_no_code_and_no_hook(packs: InstalledPacks, tmp_path: Path) -> None:
    """X-2: what is read when it is used is what the text shows."""
    hooks = '// Fine.\n{"hooks": {"Stop": [{"hooks": [{"command": "sh", "args": ["-c", "x y"]}]}]}}'
    files = {
        f"{OURS}/agents/.hidden.md": "---\nname: Ghost\ndescription: Boo\ntools: [run]\n---\nBoo",
        f"{OURS}/tools/inner/deep.py": "UNSEEN = 1\n",
        f"{OURS}/hooks.json": hooks,
    }
    text = packs.look(str(write_pack(tmp_path / "pack", files))).text
    for words in ("Ghost: Boo", "tools: run", "UNSEEN = 1", "Stop: sh -c 'x y'"):
        assert words in text, words


def test_only_what_was_shown_is_approved(packs: InstalledPacks, tmp_path: Path) -> None:
    """X-2: the files may change while the person reads."""
    pack = install(packs, write_pack(tmp_path / "pack"))
    (pack.manifest.folder / "more.txt").write_text("shown")
    shown = packs.get("office")
    (pack.manifest.folder / "more.txt").write_text("not shown")
    with pytest.raises(PackError, match="changed meanwhile"):
        packs.approve("office", shown.digest)
    assert not packs.get("office").runs


def test_no_pack_has_the_place_of_all(packs: InstalledPacks, tmp_path: Path) -> None:
    """X-2: its data would be the code of all packs, and be removed with it."""
    for name in ("code", "packs.json"):
        with pytest.raises(PackError, match="studio uses that name"):
            packs.look(str(write_pack(tmp_path / name, name=name)))


def test_a_pack_whose_files_are_gone_can_be_removed(packs: InstalledPacks, tmp_path: Path) -> None:
    pack = install(packs, write_pack(tmp_path / "pack"))
    (pack.manifest.folder / "plugin.json").unlink()
    assert not packs.list() and packs.problems
    packs.remove("office")
    assert not packs.list() and not packs.problems and not pack.manifest.folder.exists()


def test_damaged_and_endless_zip_files_are_told(packs: InstalledPacks, tmp_path: Path) -> None:
    """X-2: in a sentence, whatever is wrong with them."""
    packed = zip_pack(write_pack(tmp_path / "pack"), tmp_path / "pack.zip")
    data = bytearray(packed.read_bytes())
    start = data.index(b"plugin.json") + len(b"plugin.json")
    data[start : start + 40] = b"\xff" * 40
    packed.write_bytes(data)
    with pytest.raises(PackError, match="no zip file that can be read"):
        packs.look(str(packed))
    deep = tmp_path / "deep.zip"
    with zipfile.ZipFile(deep, "w") as made:
        made.writestr("a/" * 1_500 + "b", "")
    with pytest.raises(PackError, match="deep"):
        packs.look(str(deep))
    place = tmp_path / "deep"
    (place / "pack" / ("a/" * 60)).mkdir(parents=True)
    with pytest.raises(PackError, match="deep"):
        packs.look(str(write_pack(place / "pack")))
    assert not staged(packs)


HEAD = """# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "rich",
#   "pypdf>=5",
#   "--index-url=https://example.com",
# ]
# ///
"""


LONG = f"# /// script\n# dependencies = ['a @ https://example.com/{'x' * 300}']\n"


def test_x3_what_the_heads_of_files_need_is_shown_and_installed(
    packs: InstalledPacks, tmp_path: Path
) -> None:
    """X-3: a head as in PEP 723 counts as the manifest does; none is an option of uv."""
    files = {
        f"{OURS}/tools/letters.py": f"{HEAD}import pypdf\n",
        f"{OURS}/tools/plain.py": "# dependencies = ['none']\n",
        f"{OURS}/tools/new.py": '# /// script\n# requires-python = ">=3.12"\n# ///\n',
        f"{OURS}/tools/wrong.py": "# /// script\n# dependencies = [\n# ///\n",
        f"{OURS}/tools/twice.py": "# /// script\n# dependencies = ['a']\n# ///\n\n" * 2,
        f"{OURS}/tools/lines.py": (
            '# /// script\r\n# tool.a = """\r\n# ///\r\n# """\r\n#\r\n'
            "# dependencies = ['six']\r\n# ///\r\nimport six\r\n"
        ),
        f"{OURS}/tools/endless.py": "# /// script\r\n" + "# words\r\n" * 10_000,
        f"{OURS}/tools/long.py": f"{LONG}# ///\n",
    }
    source = write_pack(tmp_path / "pack", files, ours={"python": ["rich"]})
    offer = packs.look(str(source))
    assert "needs: rich, pypdf>=5, six\n" in offer.text
    assert "needs Python >=3.11,>=3.12\n" in offer.text
    for name in ("letters.py", "wrong.py", "twice.py", "long.py"):
        assert f"The head of {name} (# /// script) is wrong" in offer.text
    packs.add(offer)
    (entry,) = HostEntries(packs, lambda: "uv")()
    with_words = [
        one for at, one in enumerate(entry.arguments) if entry.arguments[at - 1] == "--with"
    ]
    assert with_words == ["rich", "pypdf>=5", "six"]
    assert entry.arguments[entry.arguments.index("--python") + 1] == ">=3.11,>=3.12"
