"""The built-in model: a small one, run on this computer without a key or a network.

- ``adapter``: speaks Chat Completions with the model's server.
- ``process``: starts and stops the server, a child process.
- ``server``: runs llama.cpp's server in the child process.
- ``prompt``: rewrites a request so that a model of 135 million parameters can follow.
"""

from studio.providers.descriptor import ProviderDescriptor

PROVIDER = ProviderDescriptor(
    name="builtin",
    title="Built-in model",
    ready=True,
    local=True,
    icon="cpu",
    key="none",
)
