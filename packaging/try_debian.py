"""Tries the .deb files in a bare Debian, now and next: ``try_debian.py OUT [SUITE …]``.

Each gets a folder with what the package manager itself needs and no more (``minbase``), in which
the .deb is installed by apt, started on a screen of Xvfb's from outside, updated and removed. Needs
root and mmdebstrap.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from definition import Definition, definition
from try_linux import check_kept, check_smoke, digests, listed, not_tried, run, screen

SUITES = ("stable", "testing")
OLDER = "0.0.0~before"
HOME = "/root"
MOUNTS = "mount -t proc proc {0}/proc && mount --rbind /dev {0}/dev && mount -t sysfs sys {0}/sys"
APT = ("apt-get", "-qq", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0")


class BareDebian:
    """A folder with a Debian in it. Mounts are seen by its own commands alone."""

    def __init__(self, suite: str, place: Path) -> None:
        self.suite, self.place = suite, place
        run(
            *("mmdebstrap", "--quiet", "--variant=minbase", "--format=dir"),
            # A mirror that is brought up to date seldom is good enough for a trial.
            *('--aptopt=Acquire::Check-Valid-Until "false"', suite, place),
        )
        shutil.copy("/etc/resolv.conf", place / "etc" / "resolv.conf")
        self.run(*APT, "update")  # mmdebstrap keeps no list of what there is

    def run(self, *command: str, **environment: str) -> str:
        """What a command in it prints; it ends everything where it fails."""
        named = {"HOME": HOME, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        named |= {"DEBIAN_FRONTEND": "noninteractive"} | environment
        words = ["env", "-i", *(f"{name}={value}" for name, value in named.items()), *command]
        mounts = MOUNTS.format(shlex.quote(str(self.place)))
        inside = f"{mounts} && exec {shlex.join(['chroot', str(self.place), *words])}"
        return run("unshare", "--mount", "sh", "-c", inside)

    def install(self, deb: Path) -> None:
        """As a person does it: apt brings what the package says that it needs."""
        shutil.copy(deb, self.place / "tmp" / deb.name)
        self.run(*APT, "install", f"/tmp/{deb.name}")
        (self.place / "tmp" / deb.name).unlink()

    def named(self, word: str) -> list[str]:
        """Files of the system that have a word in their names."""
        found = self.run("find", "/", "-xdev", "-name", f"*{word}*", "-not", "-path", f"{HOME}/*")
        return [one for one in found.splitlines() if not one.startswith(("/proc", "/sys", "/dev"))]


def older(deb: Path, place: Path) -> Path:
    """The same package as an earlier version, where there is none yet to update from."""
    tree = place / "older"
    run("dpkg-deb", "-R", deb, tree)
    control = tree / "DEBIAN" / "control"
    lines = control.read_text().splitlines()
    lines = [f"Version: {OLDER}" if one.startswith("Version:") else one for one in lines]
    control.write_text("\n".join((*lines, "")))
    file = place / f"older_{deb.name}"
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, file)
    shutil.rmtree(tree)
    return file


def try_deb(debian: BareDebian, about: Definition, deb: Path, before: Path, picture: Path) -> None:
    """Install an earlier version, take a turn, update, start, remove."""
    home = {"AGENT_STUDIO_HOME": f"{HOME}/studio"}
    debian.install(before)
    provider = "builtin" if "-light_" not in deb.name else "simulator"
    asked = ("run", "--provider", provider, "--agent", "Plain", "Hello")
    listing = (about.command, "sessions", "list", "--json")
    debian.run(about.command, *asked, **home)
    chats = debian.run(*listing, **home)
    debian.install(deb)
    if debian.run(*listing, **home) != chats or "Hello" not in chats:
        raise SystemExit(f"The update to {deb.name} changed the chats, which were {chats}")
    with screen() as number:
        told = debian.run(about.command, "--smoke", "/tmp/picture.png", DISPLAY=number)
        check_smoke(told, f"{deb.name} in Debian {debian.suite}")
        print("".join(f"  {debian.suite}: {line}\n" for line in told.splitlines()), end="")
    shutil.move(debian.place / "tmp" / "picture.png", picture)
    told = debian.run(about.command, "doctor", "--offline", **home)
    if "Debian package, in /usr/lib/" not in told:
        raise SystemExit(f"The doctor does not know the .deb:\n{told}")
    data = debian.place / HOME[1:] / "studio"
    kept = digests(data)
    debian.run(*APT, "purge", deb.name.partition("_")[0])
    left = [str(one) for one in listed(deb) if (debian.place / str(one)[1:]).is_file()]
    if left or (left := debian.named(about.command)):
        raise SystemExit(f"In Debian {debian.suite} removing {deb.name} leaves {left[:5]}")
    check_kept(kept, data)


def main(out: Path, suites: tuple[str, ...]) -> None:
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        not_tried("a bare Debian needs root and mmdebstrap")
        return
    about, dist, pictures = definition(), out / "dist", out / "pictures"
    pictures.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        debs = sorted(dist.glob("*.deb"))
        if not debs:
            raise SystemExit(f"There is no .deb in {dist}.")
        before = {deb: older(deb, Path(place)) for deb in debs}
        for suite in suites:
            debian = BareDebian(suite, Path(place) / suite)
            for deb in debs:
                name = f"{deb.name.partition('_')[0]}-{suite}.png"
                try_deb(debian, about, deb, before[deb], pictures / name)
            subprocess.run(["rm", "-rf", "--one-file-system", debian.place], check=True)
    print(f"The .deb files work in a bare Debian: {', '.join(suites)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), tuple(sys.argv[2:]) or SUITES)
