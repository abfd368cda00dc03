"""The release pipeline: it calls what runs at a desk too, and gathers what four systems made."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MAKERS = ROOT / "packaging"
STEP = re.compile(r"sh packaging/release\.sh (\w+)((?: (?:[\w./-]+|\"\$GITHUB_REF_NAME\"))*)")
PIN = re.compile(r"uses: (actions/[\w-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)")
RIGHTS = {"draft": {"contents": "write", "id-token": "write", "attestations": "write"}}
"""Jobs that may do more than read."""
SECRETS = {"sign": {"UPDATE_KEY"}, "draft": {"GH_TOKEN"}}
"""Steps that are handed something that others must not have."""


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(MAKERS))
    yield
    for name in set(sys.modules) - before:
        if str(MAKERS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def workflows() -> dict[str, dict[str, Any]]:
    files = (ROOT / ".github" / "workflows").glob("*.yml")
    return {one.name: yaml.safe_load(one.read_text("utf-8")) for one in files}


def release(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", MAKERS / "release.sh", *words]
    named = os.environ | {"PYTHON": sys.executable} | environment
    return subprocess.run(command, env=named, capture_output=True, text=True, check=False)


def test_the_pipeline_only_calls_what_runs_at_a_desk_too() -> None:
    """I-8: no logic of its own, and no more rights and secrets than a step needs."""
    found = workflows()
    assert {"release.yml", "test.yml", "fresh.yml"} <= set(found)
    script = (MAKERS / "release.sh").read_text()
    for workflow in found.values():
        assert workflow["permissions"] == {"contents": "read"}
        for job_name, job in workflow["jobs"].items():
            assert job.get("permissions", {}) == RIGHTS.get(job_name, {}), job_name
            if "uses" in job:  # the jobs of another file, and nothing is handed to it
                assert job["uses"].removeprefix("./.github/workflows/") in found
                assert job.keys() <= {"uses", "needs"}, job_name
                continue
            assert "env" not in job and job["timeout-minutes"], job_name
            for step in job["steps"]:
                if step.get("uses", "").startswith("actions/checkout@"):  # nothing here pushes
                    assert step["with"]["persist-credentials"] is False, job_name
                if "uses" in step or step["run"] == "sh packaging/system.sh":
                    assert "env" not in step, step
                    continue
                called = STEP.fullmatch(step["run"])
                assert called and f"\n{called[1]})" in script, step["run"]
                assert set(step.get("env", ())) == SECRETS.get(called[1], set()), called[1]


def test_actions_are_named_by_their_commit() -> None:
    """I-8: with the version beside it, and one commit for each action."""
    pins: dict[str, set[tuple[str, str]]] = {}
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        for line in file.read_text("utf-8").splitlines():
            if "uses:" in line and "uses: ./" not in line:
                pin = PIN.fullmatch(line.strip().removeprefix("- "))
                assert pin, line
                pins.setdefault(pin[1], set()).add((pin[2], pin[3]))
    assert len(pins) == 5 and all(len(known) == 1 for known in pins.values()), pins


def test_a_release_is_tested_and_built_on_every_system() -> None:
    """I-8: a wrong tag is found first, and nothing is packed where Linux's tests fail."""
    found = workflows()
    jobs = found["packages.yml"]["jobs"] | found["release.yml"]["jobs"]
    jobs["packages"] |= found["packages.yml"]["jobs"]["packages"]
    for name in ("test", "packages"):
        systems = {one["system"] for one in jobs[name]["strategy"]["matrix"]["include"]}
        assert {one.partition("-")[0] for one in systems} == {"linux", "windows", "macos"}, name
        called = [step["run"] for step in jobs[name]["steps"] if "run" in step]
        assert f"sh packaging/release.sh {name}" in called
    needs = [jobs[name].get("needs") for name in ("version", "test", "packages", "draft")]
    assert needs == [None, "version", "test", "packages"]
    assert jobs["test"]["continue-on-error"] == "${{ matrix.system != 'linux' }}"
    ran = [STEP.fullmatch(one["run"]) for one in jobs["draft"]["steps"] if "run" in one]
    assert [one and one[1] for one in ran] == ["gather", "sign", "sums", "draft"]


def test_the_packages_are_tried_in_a_bare_debian_before_there_is_a_draft() -> None:
    """I-8: on a system that knows Debian's keys; and all of it every week, before any tag."""
    found = workflows()
    callers = {
        name
        for name, workflow in found.items()
        for job in workflow["jobs"].values()
        if job.get("uses") == "./.github/workflows/packages.yml"
    }
    assert callers == {"release.yml", "fresh.yml"}
    assert found["release.yml"]["jobs"]["draft"]["needs"] == "packages"
    jobs = found["packages.yml"]["jobs"]
    assert jobs["debian"]["needs"] == "packages" and jobs["debian"]["runs-on"] == "ubuntu-24.04"
    fetched, ran = (
        [step for step in jobs["debian"]["steps"] if word in step.get(kind, "")]
        for kind, word in (("uses", "download-artifact"), ("run", "release.sh debian"))
    )
    assert fetched[0]["with"] == {"name": "linux", "path": "build/packages/dist"}
    assert ran[0]["run"] == "sh packaging/release.sh debian build/packages"
    lines = (MAKERS / "packages.sh").read_text("utf-8").splitlines()
    (tried,) = (one.strip() for one in lines if "try_debian.py" in one)
    assert tried.startswith('[ "${GITHUB_ACTIONS:-}" = true ] ||')  # at a desk it is tried


@pytest.mark.skipif(sys.platform == "win32", reason="it has a cygpath of its own")
def test_packages_are_built_where_python_finds_them(tmp_path: Path) -> None:
    """I-8: on Windows by a path of its own kind; pictures of an earlier run, as root, are gone."""
    out, bin = tmp_path / "out", tmp_path / "bin"
    (out / "pictures").mkdir(parents=True)
    (out / "pictures" / "old.png").touch()
    bin.mkdir()
    for name, does in (("cygpath", 'echo "$2/."'), ("python", 'echo "$@"; exit 1')):
        (bin / name).write_text(f"#!/bin/sh\n{does}\n")
        (bin / name).chmod(0o755)
    for path, place in ((os.environ["PATH"], out), (f"{bin}:{os.environ['PATH']}", f"{out}/.")):
        environment = os.environ | {"OUT": str(out), "PYTHON": str(bin / "python"), "PATH": path}
        command = ["sh", MAKERS / "packages.sh"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode and f"-m venv {place}/tools\n" in done.stdout
        assert list((out / "pictures").iterdir()) == []


MADE = {
    "linux": ("agent_studio-1.whl", "agent_studio-1.tar.gz", "agent-studio_1.deb", "SHA256SUMS"),
    "windows": ("agent_studio-1.whl", "agent_studio-1.tar.gz", "setup.exe", "SHA256SUMS"),
    "macos-arm": ("agent_studio-1.whl", "agent-studio-1-macos-arm64.dmg", "SHA256SUMS"),
    "pictures-linux": ("program.png",),
}


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    """Stand-ins for what the systems hand over; each file says whose it is."""
    for system, names in MADE.items():
        (tmp_path / "artifacts" / system).mkdir(parents=True)
        for name in names:
            (tmp_path / "artifacts" / system / name).write_text(f"{name} of {system}")
    return tmp_path / "artifacts"


def test_what_the_systems_made_comes_into_one_folder(artifacts: Path, tmp_path: Path) -> None:
    """I-8: nothing replaces a file of the same name, and a second run gives the same sums."""
    folder = tmp_path / "release"
    for _ in range(2):
        done = release("gather", artifacts, folder)
        assert done.returncode == 0, done.stderr
        (folder / "updates.json").write_text("signed")
        for _ in range(2):  # the list itself is in no list
            assert release("sums", folder).returncode == 0
        listed = [one.split("  ") for one in (folder / "SHA256SUMS").read_text().splitlines()]
        assert {name for _, name in listed} == {
            *("agent_studio-1.whl", "agent_studio-1.tar.gz", "agent-studio_1.deb", "setup.exe"),
            *("agent-studio-1-macos-arm64.dmg", "updates.json"),
        }
        for number, name in listed:
            assert number == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert (folder / "agent_studio-1.whl").read_text() == "agent_studio-1.whl of linux"
    (artifacts / "windows" / "agent-studio_1.deb").write_text("another")
    done = release("gather", artifacts, tmp_path / "other")
    assert done.returncode == 1 and "agent-studio_1.deb has the name of another" in done.stderr


def test_a_draft_has_notes_and_all_files(
    makers: None, artifacts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I-8: a pre-release is marked as one; nothing is published."""
    (tmp_path / "bin").mkdir()
    stand_in = tmp_path / "bin" / "gh"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stand_in.chmod(0o755)
    tree = tmp_path / "tree"
    (tree / "studio" / "agent").mkdir(parents=True)
    shutil.copytree(MAKERS, tree / "packaging")
    for name in ("pyproject.toml", "CHANGELOG.md", "studio/agent/updates.py"):
        shutil.copy(ROOT / name, tree / name)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for version, before in (("3.1.0", "false"), ("3.2.0rc1", "true")):
        (tree / "studio" / "__init__.py").write_text(f'__version__ = "{version}"\n')
        (tree / "CHANGELOG.md").write_text(f"## {version} (2027-01-01)\n\n- fly\n")
        command = ["sh", tree / "packaging" / "release.sh", "draft", f"v{version}"]
        done = subprocess.run(
            [*command, artifacts / "windows"],
            env=os.environ | {"PATH": path, "PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=True,
        )
        said = done.stdout.splitlines()
        assert said[:5] == [
            *("release", "create", f"v{version}"),
            *("--draft", "--verify-tag"),
        ]
        assert f"--prerelease={before}" in said
        assert {Path(one).name for one in said[-4:]} == set(MADE["windows"])
        assert Path(said[said.index("--notes-file") + 1]).read_text() == "- fly\n"


def test_the_notes_of_a_release_are_cut_from_the_changelog(makers: None) -> None:
    """I-8: of that version alone; a tag of another one, or of one not finished, is refused."""
    from definition import definition
    from notes import notes, released_notes

    log = (
        "# Changelog\n\n## 1.10.0 (unreleased)\n\nNewer.\n\n## 1.1.0 (today)\n\nThis.\n\n- More\n\n"
    )
    log += "## 1.0\n\nOld.\n\n## 0.9\n\n## 1.0rc2\n\nSoon.\n\n## 1.0.post1\n\nLater.\n"
    log += "\n## 1.0.dev1\n\nEarly.\n"
    assert released_notes(log, "1.0rc2", "1.0rc2") == "Soon."
    assert notes(log, "1.1.0") == released_notes(log, "1.1.0", "1.1.0") == "This.\n\n- More"
    assert notes(log, "1.1") == ""
    for version, now, words in (
        ("1.1.0", "1.2.0", "tag is of 1.1.0"),
        ("1.10.0", "1.10.0", "unreleased"),
        ("0.9", "0.9", "says nothing"),
        ("0.8", "0.8", "says nothing"),
        ("1.0.post1", "1.0.post1", "no version such as"),
        ("1.0.dev1", "1.0.dev1", "no version such as"),
    ):
        with pytest.raises(SystemExit, match=words):
            released_notes(log, version, now)
    assert notes((ROOT / "CHANGELOG.md").read_text("utf-8"), definition().version)
    for tag, words in (("v99.0", "99.0"), ("", "which tag")):
        done = release("tag", tag)
        assert done.returncode and words in done.stderr


def test_new_major_versions_are_installed_too(makers: None, tmp_path: Path) -> None:
    """I-8: upper bounds are lifted, of extras and tests too, unless they are of one Python."""
    from majors import above, lifted, requirements

    assert lifted("anthropic>=2.12,<3") == "anthropic>=2.12"
    assert lifted("mcp[cli]>=2,!=2.4,<3; sys_platform == 'linux'") == (
        "mcp[cli]>=2,!=2.4; sys_platform == 'linux'"
    )
    for kept in ("rich>=15.0", "PySide6-Essentials>=6.11.3,<6.12; python_version < '3.12'"):
        assert lifted(kept) == kept
    wanted = [lifted(one) for one in requirements()]
    assert {"openai", "starlette", "xllamacpp", "opentelemetry-sdk"} <= {
        re.split(r"[\[<>=!;]", one)[0] for one in wanted
    }
    assert not [one for one in wanted if "<" in one and "python_version" not in one]
    assert above("pytest>=8,<9").startswith("pytest ") and not above("pytest>=8,<999")
    assert not above("pytest>=8") and not above("nobody-has-this>=1,<2")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_bytes_of_a_checkout_do_not_depend_on_the_system(tmp_path: Path) -> None:
    """I-8: texts have LF on Windows too, and tables stay as they are."""
    tree = tmp_path / "tree"
    tree.mkdir()
    shutil.copy(ROOT / ".gitattributes", tree)
    (tree / "script.sh").write_bytes(b"a\nb\n")
    (tree / "table.csv").write_bytes(b"a\r\nb\r\n")

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "core.autocrlf=true", *words], cwd=tree, check=True)

    git("init", "-q")
    git("add", ".")
    for name in ("script.sh", "table.csv"):
        (tree / name).unlink()
    git("checkout", "-q", ".")
    assert (tree / "script.sh").read_bytes() == b"a\nb\n"
    assert (tree / "table.csv").read_bytes() == b"a\r\nb\r\n"
