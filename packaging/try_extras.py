"""Imports what each extra of pyproject.toml brings, in the environment that has them all."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]


def module_of(package: str) -> str:
    """The first package of modules in a wheel; several may share a folder above theirs."""
    found = [
        file.parent for file in distribution(package).files or () if file.name == "__init__.py"
    ]
    return ".".join(min(found, key=lambda one: (len(one.parts), "_" in str(one), one.parts)).parts)


def main() -> None:
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for extra, requirements in whole["project"]["optional-dependencies"].items():
        for one in requirements:
            if "python_version < '3.14'" in one and sys.version_info >= (3, 14):
                continue
            name = re.split(r"[^\w.-]", one, maxsplit=1)[0]
            try:
                module = module_of(name)
            except (PackageNotFoundError, ValueError) as error:
                raise SystemExit(f"{name}, of the extra {extra}, is not there.") from error
            import_module(module)
    print(f"Every extra can be imported by Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
