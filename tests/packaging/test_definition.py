"""The one definition of the program, and what packages are made of by it. Nothing is built here."""

from __future__ import annotations

import gzip
import importlib.metadata
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import RawConfigParser
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

import studio
from studio.__main__ import AGENT_ENDING, _is_for_the_window, _path_of
from studio.agent.agent_files.foreign import VSCODE_ENDING
from studio.cli.commands import COMMANDS, build_parser
from studio.cli.commands.completion import SCRIPTS
from studio.storage.paths import APP
from studio.ui.app.links import SCHEME
from studio.ui.app.opening import folder_for
from studio.ui.settings.pages.about import LICENCES
from studio.ui.theme import Theme
from studio.ui.widgets.painting import paint_logo

ROOT = Path(__file__).parents[2]
MAKERS = ROOT / "packaging"


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules of the folder ``packaging``, which are run as scripts."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(MAKERS))
    yield
    for name in set(sys.modules) - before:
        if str(MAKERS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def about(makers: None) -> Any:
    from definition import definition

    return definition()


def test_the_program_calls_itself_as_the_definition_does(about: Any) -> None:
    """I-1: what the code and the definition both say is the same."""
    assert about.version == studio.__version__
    assert about.command == APP
    assert about.link_scheme == SCHEME
    assert about.title in build_parser().format_help() + (ROOT / "studio/ui/app/main.py").read_text(
        "utf-8"
    )
    assert [one.ending for one in about.file_types] == [AGENT_ENDING] == [VSCODE_ENDING]
    # Qt and Python packages are on the About page too; the rest is the definition's.
    known = {(one.name, one.file.removeprefix("resources/")) for one in about.licences}
    assert {(name, file) for name, _, file in LICENCES} == known
    for one in about.licences:
        assert (ROOT / one.file).is_file()


def test_a_name_that_a_template_wants_must_be_defined(about: Any, tmp_path: Path) -> None:
    from definition import filled

    template = tmp_path / "template"
    template.write_text("${title} ${nobody}")
    with pytest.raises(KeyError, match="nobody"):
        filled(template, about.values())


def test_no_template_types_a_value_of_the_definition(about: Any) -> None:
    """I-1: name, id, version and scheme come from one place."""
    templates = [
        one
        for folder in ("linux", "windows", "macos", "flatpak", "appimage", "pyinstaller")
        for one in (MAKERS / folder).rglob("*")
        if one.is_file() and one.suffix != ".pyc"
    ]
    assert {"agent-studio.spec", "mime-type.xml", "installer.nsi"} <= {
        one.name for one in templates
    }
    values = [about.values(), *(one.values() for one in about.file_types)]
    for one in templates:
        text = one.read_text("utf-8")
        for name, value in (each for some in values for each in some.items()):
            typed = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)
            assert typed is None, f"{one.name} has “{value}” of its own, the {name}"


def test_scripts_ask_for_what_the_definition_says(about: Any) -> None:
    """I-1: the command, the extras and the model are typed nowhere else."""
    for wanted in ("command", "extras", "test-extras", "model"):
        done = subprocess.run(
            [sys.executable, str(MAKERS / "definition.py"), wanted],
            capture_output=True,
            text=True,
            check=True,
        )
        value = done.stdout.strip()
        assert value
        for script in ("packages.sh", "setup.sh", "release.sh"):
            assert value not in (MAKERS / script).read_text("utf-8")
    setup = (MAKERS / "setup.sh").read_text("utf-8")
    assert "libxcb" not in setup  # Qt's libraries are in system.txt


def test_every_type_of_file_is_told_to_the_desktop(about: Any, makers: None) -> None:
    """I-2: one more is one more everywhere."""
    import linux

    other = replace(about.file_types[0], ending=".skill.md", mime="text/x-skill", title="Skill")
    both = replace(about, file_types=(*about.file_types, other))
    types = ElementTree.fromstring(linux.mime_info(both))
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    assert [one.get("pattern") for one in types.iter(f"{space}glob")] == [
        "*.agent.md",
        "*.skill.md",
    ]
    told = ElementTree.fromstring(linux.metainfo(both).encode())
    assert [one.text for one in told.iter("mediatype")] == [one.mime for one in both.file_types]


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="dpkg is not installed")
def test_debian_orders_versions_as_python_does(makers: None) -> None:
    """I-2: a release is newer than what came before it, and apt brings it."""
    import deb

    order = ["0.1.9", "0.2.0.dev3", "0.2.0a1", "0.2.0b2", "0.2.0rc1", "0.2.0", "0.2.0.post1"]
    versions = [deb.debian_version(one) for one in order]
    assert versions[4:6] == ["0.2.0~rc1", "0.2.0"]
    for older, newer in itertools.pairwise(versions):
        if "dev" not in older:  # which Debian has between alpha and release candidate
            subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)


def test_the_icon_is_the_logo_that_the_window_paints(about: Any, qapp: Any) -> None:
    """I-1: pixel by pixel, but for the edges."""
    size = 208
    images: list[QImage] = []
    for paint in (
        lambda painter: QSvgRenderer(str(about.icon)).render(painter, QRectF(0, 0, size, size)),
        lambda painter: paint_logo(painter, Theme(), QRectF(0, 0, size, size)),
    ):
        image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(0)
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint(painter)
        painter.end()
        images.append(image)
    svg, painted = images
    different = sum(
        max(abs(a - b) for a, b in zip(_rgba(svg, x, y), _rgba(painted, x, y), strict=True)) > 48
        for x in range(size)
        for y in range(size)
    )
    assert different < size * size * 0.005


def _rgba(image: QImage, x: int, y: int) -> tuple[int, int, int, int]:
    colour = image.pixelColor(x, y)
    return colour.red(), colour.green(), colour.blue(), colour.alpha()


def test_every_size_of_the_icon(about: Any, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(MAKERS / "icons.py"), str(tmp_path)],
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    from PIL import Image

    for file in tmp_path.glob("*.png"):
        with Image.open(file) as image:
            size = int(file.stem.rpartition("-")[2])
            assert image.size == (size, size)
            assert image.getpixel((size // 2, 1))[3] > 200  # painted from edge to edge
            assert image.getpixel((0, 0))[3] < 128  # round corners
    with Image.open(tmp_path / "agent-studio.ico") as icon:
        assert {(16, 16), (48, 48), (256, 256)} <= icon.info["sizes"]
    with Image.open(tmp_path / "agent-studio.icns") as icon:
        assert (512, 512, 2) in icon.info["sizes"]


@pytest.fixture
def desktop(about: Any, tmp_path: Path) -> Path:
    import linux
    from icons import SIZES

    icons = tmp_path / "icons"
    icons.mkdir()
    for size in SIZES:
        (icons / f"{about.command}-{size}.png").write_bytes(b"")
    page = linux.manual(about, build_parser(), COMMANDS)
    linux.desktop_files(about, icons, tmp_path / "usr", page, SCRIPTS)
    return tmp_path / "usr" / "share"


def test_the_desktop_entry(about: Any, desktop: Path) -> None:
    """I-2: folders, links and files of agents open with the program."""
    file = desktop / "applications" / "agent-studio.desktop"
    entry = RawConfigParser(delimiters=("=",), strict=True)
    entry.optionxform = str  # type: ignore[assignment]
    entry.read_string(file.read_text("utf-8"))
    main = entry["Desktop Entry"]
    assert main["Name"] == about.title
    assert main["MimeType"].rstrip(";").split(";") == [
        "text/x-agent-studio-agent",
        "inode/directory",
        "x-scheme-handler/agent-studio",
    ]
    assert main["Exec"].split() == [about.command, "%u"]
    for action in main["Actions"].rstrip(";").split(";"):
        assert entry[f"Desktop Action {action}"]["Exec"].startswith(about.command)
    if validator := shutil.which("desktop-file-validate"):
        done = subprocess.run([validator, str(file)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")


def test_what_software_centres_and_file_managers_read(about: Any, desktop: Path) -> None:
    (file,) = (desktop / "metainfo").iterdir()
    component = ElementTree.parse(file).getroot()
    assert component.findtext("id") == about.id == file.name.removesuffix(".metainfo.xml")
    assert component.findtext("launchable") == "agent-studio.desktop"
    release = component.find("releases/release")
    assert release is not None and release.get("version") == studio.__version__
    # Flatpak takes no file whose name does not begin with the id.
    types = ElementTree.parse(desktop / "mime" / "packages" / f"{about.id}.xml").getroot()
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    (glob,) = types.iter(f"{space}glob")
    assert glob.get("pattern") == "*.agent.md"
    assert int(glob.get("weight", "50")) > 50  # else *.md wins


def test_the_page_of_man_and_what_tab_completes(desktop: Path) -> None:
    page = gzip.decompress((desktop / "man" / "man1" / "agent-studio.1.gz").read_bytes()).decode()
    for name in COMMANDS:
        assert f".B {name}\n" in page
    assert "smoke" not in page
    if shutil.which("man"):
        done = subprocess.run(
            ["man", "--warnings", "-l", "-"],
            input=page,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"LC_ALL": "C.UTF-8", "MANPAGER": "cat"},
        )
        assert done.stderr == ""
        assert "quick-ask" in re.sub(".\b", "", done.stdout)
    for place in (
        "bash-completion/completions/agent-studio",
        "zsh/vendor-completions/_agent-studio",
        "fish/vendor_completions.d/agent-studio.fish",
    ):
        assert "completion" in (desktop / place).read_text()


def test_every_override_of_lintian_is_explained() -> None:
    """I-2: a comment stands before each group."""
    explained = False
    for line in (MAKERS / "linux" / "lintian-overrides").read_text().splitlines():
        if line.startswith("#"):
            explained = True
        elif not line:
            explained = False
        else:
            assert explained, line


def stand_in(about: Any, place: Path, leave: tuple[str, ...] = ()) -> Path:
    """PyInstaller's folder, with one file of each package that the program needs."""
    import bom

    inside = place / "_internal"
    for part in bom.parts_of(about):
        if part.metadata["Name"] in leave:
            continue
        for file in map(str, part.files or []):
            if file.endswith(".py") and not file.startswith(".."):
                compiled = (inside / file).with_suffix(".pyc")
                compiled.parent.mkdir(parents=True, exist_ok=True)
                compiled.touch()
                break
    for one in about.licences:
        if not one.packages:
            (inside / one.folder).mkdir(parents=True, exist_ok=True)
    return place


def test_the_bill_of_materials_names_all_that_ships(about: Any, tmp_path: Path) -> None:
    """I-4: by CycloneDX, each with its licence, and nothing else."""
    import bom

    program, papers = stand_in(about, tmp_path / "program", ("hf-xet",)), tmp_path / "papers"
    assert bom.write_papers(program, papers, {}) == []
    bill = json.loads((papers / "bom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    components = {one["name"].lower(): one for one in bill["components"]}
    for name in ("pyside6_essentials", "anthropic", "mcp", "holidays", "lucide", "python"):
        assert components[name]["licenses"], name
    # KZ-44: nobody can install the extra into a package of a system.
    assert components["sqlcipher3"]["licenses"] == [{"license": {"id": "Zlib"}}]
    assert components["sqlcipher"]["licenses"] == [{"license": {"id": "BSD-3-Clause"}}]
    assert "pytest" not in components
    assert "hf-xet" not in components  # installed, and left out by PyInstaller
    assert components["pyside6_essentials"]["purl"].startswith("pkg:pypi/pyside6-essentials@")
    refs = [one["bom-ref"] for one in bill["components"]]
    assert sorted(refs) == sorted(set(refs))
    assert set(bill["dependencies"][0]["dependsOn"]) == set(refs)
    texts = (papers / "licences.txt").read_text()
    assert "SIL Open Font License" in texts and "PySide6_Essentials" in texts
    # Qt's and latex2mathml's wheels have no text; Python's own is no package's.
    for words in (
        "GNU LESSER GENERAL PUBLIC LICENSE",
        "GNU GENERAL PUBLIC LICENSE",
        "Ronie Martinez",
        "PYTHON SOFTWARE FOUNDATION LICENSE",
    ):
        assert words in texts


def test_the_light_package_has_papers_of_its_own(about: Any, tmp_path: Path) -> None:
    """I-4: neither the engine nor the weights are named where they are not."""
    import bom
    import linux

    whole = stand_in(about, tmp_path / "program")
    linux.copy_program(whole, tmp_path / "light", light=True)
    named = {}
    for program in (whole, tmp_path / "light"):
        bom.write_papers(program, tmp_path / "papers", {})
        bill = json.loads((tmp_path / "papers" / "bom.cdx.json").read_text())
        named[program] = {one["name"] for one in bill["components"]}
    gone = {about.model_package, "huggingface_hub", "fsspec", "filelock"}
    assert named[whole] - named[tmp_path / "light"] >= gone


def test_a_package_without_a_text_cannot_ship(about: Any, tmp_path: Path) -> None:
    """I-4: a name of a licence is no licence."""
    import bom

    papers = tmp_path / "box-1.dist-info"
    papers.mkdir()
    (papers / "METADATA").write_text("Name: Box\nVersion: 1\nLicense-Expression: MIT\n")
    (papers / "RECORD").write_text("box-1.dist-info/METADATA,,\nbox-1.dist-info/LICENSE,,\n")
    box = importlib.metadata.Distribution.at(papers)
    assert bom.without_text(about, [box]) == ["Box"]
    covered = replace(about.licences[0], packages=("box",))
    assert bom.without_text(replace(about, licences=(covered,)), [box]) == []
    for beside in ("AUTHORS", "NOTICE.txt"):
        with (papers / "RECORD").open("a") as record:
            record.write(f"box-1.dist-info/{beside},,\n")
        (papers / beside).write_text("Ann wrote it.")
    assert bom.without_text(about, [box]) == ["Box"]
    (papers / "LICENSE").write_text("Everybody may use it.")
    assert bom.without_text(about, [box]) == []


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="dpkg is not installed")
def test_the_bill_names_libraries_of_the_system_and_of_python(about: Any, tmp_path: Path) -> None:
    """I-4: each with the package that it is from, and the text of that."""
    import bom

    files = subprocess.run(
        ["dpkg-query", "--listfiles", "zlib1g"], capture_output=True, text=True, check=True
    ).stdout.split()
    library = next(one for one in files if one.endswith("/libz.so.1"))
    origins = {
        "libz.so.1": library.removeprefix("/usr"),  # as a linker says it
        "libgone.so.1": library,  # left out since
        "libown.so.1": str(tmp_path / "libown.so.1"),
        "libpython9.so": str(Path(sys.base_prefix, "lib", "libpython9.so")),
    }
    program = stand_in(about, tmp_path / "program")
    for name in ("libz.so.1", "libown.so.1", "libpython9.so"):
        (program / "_internal" / name).touch()
    # Nobody knows whose it is, and so not what may be done with it.
    assert bom.write_papers(program, tmp_path, origins) == ["libown.so.1"]
    bill = json.loads((tmp_path / "bom.cdx.json").read_text())
    components = {one["name"]: one for one in bill["components"]}
    assert re.match(r"pkg:deb/\w+/zlib1g@[\w.%+-]+\?arch=", components["zlib1g"]["purl"])
    assert [one["name"] for one in components["Python"]["components"]] == ["libpython9.so"]
    assert "Jean-loup Gailly" in (tmp_path / "licences.txt").read_text()


def test_the_file_of_licences_of_debian(about: Any) -> None:
    """I-2: texts that every Debian has are named by their place, as its policy wants it."""
    import deb

    text = deb.copyright_file(about)
    assert "GENERAL PUBLIC LICENSE" not in text.upper()
    for name in ("Apache-2.0", "LGPL-3", "GPL-3"):
        assert text.count(f"/usr/share/common-licenses/{name}.\n") == 1
    assert "Copyright: The Qt Company Ltd.\nLicense: LGPL-3.0-only\n" in text
    assert "Copyright: 2016 Ronie Martinez\nLicense: MIT\n" in text


START = MAKERS / "pyinstaller" / "start.py"


def _start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(START), *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_package_starts_its_own_parts_as_python_would() -> None:
    """I-3: the program runs modules of itself by ``sys.executable -m``."""
    whole = _start("--version")
    assert (whole.returncode, whole.stdout) == (0, f"Agent Studio {studio.__version__}\n")
    assert _start("-m", "studio", "--version").stdout == whole.stdout
    server = _start("-m", "studio.providers.local_model.server")
    assert "JSONDecodeError" in server.stderr  # it reads its order, which is empty
    keeper = _start("-I", "-S", str(ROOT / "studio/processes/keeper_process.py"))
    assert "keeper_process.py" in keeper.stderr and "socket" in keeper.stderr.lower()
    assert _start("-m", "json.tool").returncode != 0  # nobody else's modules


def test_what_a_package_starts_gets_the_systems_libraries(makers: None) -> None:
    """I-3: a command of the person's must not load the packaged ones."""
    code = "import sys, os; sys.path.insert(0, {!r}); import start; start.forget_library_path()"
    told = code.format(str(START.parent)) + "; print(os.environ.get('LD_LIBRARY_PATH'))"
    told += "; sys.exit(any(one.startswith('_PYI_') for one in os.environ))"

    def left(**environment: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", told],
            env=os.environ | {"_PYI_PARENT_PROCESS_LEVEL": "1"} | environment,
            capture_output=True,
            text=True,
            check=True,  # a part of the program would not look for its libraries again
        ).stdout.strip()

    assert left(LD_LIBRARY_PATH="/program") == "None"
    assert left(LD_LIBRARY_PATH="/program", LD_LIBRARY_PATH_ORIG="/mine") == "/mine"


def test_the_file_of_an_agent_opens_the_folder_that_has_it(tmp_path: Path) -> None:
    """I-2: as a file manager opens it."""
    agents = tmp_path / ".github" / "agents"
    agents.mkdir(parents=True)
    file = agents / "reviewer.agent.md"
    assert not _is_for_the_window(str(file))
    file.write_text("---\nname: Reviewer\n---\n")
    assert _is_for_the_window(str(file))
    assert folder_for(file) == tmp_path
    loose = tmp_path / "loose.agent.md"
    loose.write_text("")
    assert folder_for(loose) == tmp_path
    assert folder_for(tmp_path) == tmp_path


def test_a_desktop_hands_over_addresses_of_files(tmp_path: Path) -> None:
    """I-2: the desktop entry asks for addresses, and only those of this computer are paths."""
    folder = tmp_path / "Büro & mehr 100%"
    folder.mkdir()
    address = folder.as_uri()
    assert "%C3%BC" in address and "%20" in address
    for word in (address, address.replace("file://", "file://localhost"), f"{address}/"):
        assert _is_for_the_window(_path_of(word)), word
        assert Path(_path_of(word)) == folder
    for word in (address.replace("file://", "file://elsewhere"), f"{address}/none", "file://["):
        assert not _is_for_the_window(_path_of(word)), word
    assert _path_of(str(folder)) == str(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode there")
def test_the_address_of_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    """I-2: Linux keeps names as bytes."""
    folder = os.fsencode(tmp_path) + b"/gr\xfc\xdfe"
    Path(os.fsdecode(folder)).mkdir()
    assert os.fsencode(_path_of(f"file://{tmp_path}/gr%FC%DFe")) == folder
    assert _is_for_the_window(_path_of(f"file://{tmp_path}/gr%FC%DFe"))
