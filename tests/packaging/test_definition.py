"""The one definition of the program, and what packages are made of by it. Nothing is built here."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import RawConfigParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

import studio
from studio.__main__ import AGENT_ENDING, _is_for_the_window
from studio.agent.agent_files.foreign import VSCODE_ENDING
from studio.app import _folder_for
from studio.cli.commands import COMMANDS, build_parser
from studio.cli.commands.completion import SCRIPTS
from studio.storage.paths import APP
from studio.ui.app.links import SCHEME
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
    assert {(name, file) for name, _, file in LICENCES if file} == known
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
        for folder in ("linux", "windows", "macos", "flatpak", "appimage")
        for one in (MAKERS / folder).rglob("*")
        if one.is_file() and one.suffix not in (".py", ".pyc")
    ]
    assert templates
    for one in templates:
        text = one.read_text("utf-8")
        for value in (
            about.title,
            about.version,
            about.id,
            about.contact,
            about.file_types[0].mime,
        ):
            assert value not in text, f"{one.name} has “{value}” of its own"


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
    types = ElementTree.parse(desktop / "mime" / "packages" / "agent-studio.xml").getroot()
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


def test_the_bill_of_materials_names_all_that_ships(makers: None, tmp_path: Path) -> None:
    """I-4: by CycloneDX, each with its licence."""
    import bom

    assert bom.collect(tmp_path) == []
    bill = json.loads((tmp_path / "bom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    components = {one["name"].lower(): one for one in bill["components"]}
    for name in ("pyside6_essentials", "anthropic", "mcp", "holidays", "lucide", "python"):
        assert components[name]["licenses"], name
    # KZ-44: nobody can install the extra into a package of a system.
    assert components["sqlcipher3"]["licenses"] == [{"license": {"id": "Zlib"}}]
    assert components["sqlcipher"]["licenses"] == [{"license": {"id": "BSD-3-Clause"}}]
    assert "pytest" not in components
    refs = [one["bom-ref"] for one in bill["components"]]
    assert sorted(refs) == sorted(set(refs))
    assert set(bill["dependencies"][0]["dependsOn"]) == set(refs)
    texts = (tmp_path / "licences.txt").read_text()
    assert "SIL Open Font License" in texts and "PySide6_Essentials" in texts


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
    assert _folder_for(file) == tmp_path
    loose = tmp_path / "loose.agent.md"
    loose.write_text("")
    assert _folder_for(loose) == tmp_path
    assert _folder_for(tmp_path) == tmp_path
