"""A container for Harbor that needs no daemon: bubblewrap around a folder.

The computer's programs are there to be read; all that is written is the container's own. Harbor
loads it by its import path, in a Python of its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

SHARED = ("/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64")
OWN = ("app", "home", "logs", "opt", "root", "solution", "tests", "tmp", "var")
VARIABLES = {
    "PATH": "/programs:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME": "/root",
    "UV_SYSTEM_CERTS": "1",
}


class Container(BaseEnvironment):
    """``programs`` is a folder whose files come first on its ``PATH``."""

    def __init__(self, *arguments: Any, programs: str = "", **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._programs = programs
        self._root = Path(self.trial_paths.trial_dir).resolve() / "container"

    @staticmethod
    def type() -> str:
        return "bubblewrap"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities()

    def _validate_definition(self) -> None:
        """Any will do: the programs are the computer's."""

    async def start(self, force_build: bool) -> None:
        for name in (*OWN, "logs/agent", "logs/verifier", "logs/artifacts"):
            (self._root / name).mkdir(parents=True, exist_ok=True)

    async def stop(self, delete: bool) -> None:
        if delete:
            shutil.rmtree(self._root, ignore_errors=True)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self._place(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._place(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._place(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._place(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._place(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        words = ["bwrap", "--unshare-user", "--uid", "0", "--gid", "0", "--unshare-pid"]
        words += ["--die-with-parent", "--clearenv", "--proc", "/proc", "--dev", "/dev"]
        for place in filter(os.path.exists, SHARED):
            words += ["--ro-bind", place, place]
        for name in OWN:
            words += ["--bind", str(self._root / name), f"/{name}"]
        if self._programs:
            words += ["--ro-bind", self._programs, "/programs"]
        for name, value in {**VARIABLES, **(env or {})}.items():
            words += ["--setenv", name, value]
        words += ["--chdir", cwd or "/app", "bash", "-c", command]
        process = await asyncio.create_subprocess_exec(
            *words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except BaseException:
            if process.returncode is None:
                process.kill()
            raise
        return ExecResult(
            stdout=out.decode("utf-8", "replace"),
            stderr=err.decode("utf-8", "replace"),
            return_code=process.returncode or 0,
        )

    def _place(self, path: str) -> Path:
        return self._root / path.lstrip("/")
