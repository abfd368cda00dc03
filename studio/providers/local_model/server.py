"""The built-in model's server: runs as ``python -m studio.providers.local_model.server``.

The first line of standard input is a JSON object: ``gguf`` (the file), ``projector``
(by which it sees pictures, empty for a model of words), ``key`` (what requests must carry),
``template`` (a chat template, empty for the file's own), ``context`` (tokens) and
``threads``. The answer is one line on standard output: ``{"url": …}``, else a text under
``missing`` (the engine), ``unusable`` (the engine, on this system) or ``error`` (the file).
The process ends when standard input does, so it never outlives its parent.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any


def main() -> None:
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    try:
        engine: Any = importlib.import_module("xllamacpp")
    except ModuleNotFoundError as error:
        _say({"missing": str(error)})
        return
    except ImportError as error:  # a library of the system's that it needs
        _say({"unusable": str(error)})
        return
    try:
        server = engine.Server(_settings(engine.CommonParams(), order))
    except Exception as error:
        _say({"error": str(error)})
        return
    _say({"url": server.listening_address})
    sys.stdin.read()
    # An orderly end would wait for answers that are not read any more.
    os._exit(0)


def _settings(settings: Any, order: dict[str, Any]) -> Any:
    settings.model.path = order["gguf"]
    if order["projector"]:
        settings.mmproj.path = order["projector"]
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0  # any that is free
    settings.api_keys = [order["key"]]
    settings.ui = False
    settings.endpoint_slots = False
    settings.use_jinja = True
    if order["template"]:
        settings.chat_template = order["template"]
        # Its requests share few words, and what a cache keeps changes the last digits of
        # what follows: without one the same request gets the same answer.
        settings.cache_prompt = False
    settings.n_ctx = order["context"]
    settings.n_parallel = 1
    settings.n_threads_http = 4
    settings.cache_ram_mib = 0
    # One for a small model: more wait for each other as soon as the cores are busy.
    settings.cpuparams.n_threads = order["threads"]
    settings.cpuparams_batch.n_threads = order["threads"]
    settings.warmup = False
    if order["template"]:
        # The likeliest word each time. Larger models repeat themselves without end that way.
        settings.sampling.temp = 0.0
        settings.sampling.top_k = 1
        settings.sampling.seed = 1
    return settings


def _say(answer: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
