"""Ollama: its own API, so that the context size is known.

- ``adapter``: sends requests over the shared HTTP client and downloads models.
- ``stream``: adds lines of JSON up to deltas and one assistant message.
- ``models``: reads a model's details and a download's progress, and chooses the context size.
"""

from studio.providers.descriptor import ProviderDescriptor

PROVIDER = ProviderDescriptor(
    name="ollama",
    title="Ollama",
    adapter="studio.providers.ollama.adapter:OllamaProvider",
    local=True,
    hosted_suffix="cloud",
    icon="laptop",
    key="none",
    connected_setting="ollama_connected",
    address="http://localhost:11434",
    address_variable="OLLAMA_HOST",
    start_command="ollama serve",
)
