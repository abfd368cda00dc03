"""Starts a pack's host: puts the studio beside Python's own packages, and none of its packages.

Run as a file, with the arguments of ``studio.packs.host.main``.
"""

import importlib.util
import sys
from pathlib import Path


def start() -> None:
    package = Path(__file__).parents[1]
    spec = importlib.util.spec_from_file_location(
        "studio", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None and spec.loader is not None
    sys.modules["studio"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    from studio.packs.host import main

    main(*sys.argv[1:])


if __name__ == "__main__":
    start()
