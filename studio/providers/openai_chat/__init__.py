"""OpenAI-compatible servers: the Chat Completions API.

- ``adapter``: sends requests over the shared HTTP client, without an SDK.
- ``stream``: adds chunks up to deltas and one assistant message.
- ``validate``: says what makes a stored history of Chat Completions or Ollama invalid.
- ``errors``: reads OpenAI's error objects, and remembers which parameters a server refuses.
- ``models``: reads a list of models, all of them, and says which of OpenAI's think and at
  which efforts.
"""

from studio.providers.descriptor import ProviderDescriptor

PROVIDER = ProviderDescriptor(
    name="openai-compatible",
    title="OpenAI-compatible",
    adapter="studio.providers.openai_chat.adapter:CompatibleProvider",
    icon="plug",
    key="optional",
    key_hint="Only if the server wants one",
    address="http://localhost:8000/v1",
    address_variable="OPENAI_BASE_URL",
    address_needed=True,
    address_key_variables=("OPENAI_API_KEY",),
    price_table="",
)
