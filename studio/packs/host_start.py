"""Starts a pack's host: puts the studio beside Python's own packages, and none of its packages but
the one that checks arguments.

Run as a file: the folder of that package, then the arguments of ``studio.packs.host.main``.
"""

import importlib.util
import sys
from pathlib import Path


def add_package(folder: Path) -> None:
    """Import one package from its folder, without what else is beside it."""
    name = folder.name
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise SystemExit(f"{folder} cannot be imported.")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def start() -> None:
    add_package(Path(sys.argv[1]))
    add_package(Path(__file__).parents[1])
    from studio.packs.host import main

    main(*sys.argv[2:])


if __name__ == "__main__":
    start()
