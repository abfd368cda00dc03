"""The built-in model: a small one, run on this computer without a key or a network.

- ``adapter``: speaks Chat Completions with the model's server.
- ``process``: starts and stops the server, a child process.
- ``server``: runs llama.cpp's server in the child process.
- ``prompt``: rewrites a request so that a model of 135 million parameters can follow, and has
  it open the file that was named.
- ``certain``: gives the answers that need no model, where this one would make something up.
"""

from studio.providers.descriptor import ProviderDescriptor

ABOUT = "Lists, reads and searches files, in English. Often wrong; it changes nothing."
"""What the model that ships can be used for, in a line for the person."""

PROVIDER = ProviderDescriptor(
    name="builtin",
    title="Built-in model",
    ready=True,
    local=True,
    icon="cpu",
    key="none",
)
