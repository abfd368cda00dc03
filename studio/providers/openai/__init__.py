"""OpenAI: the Responses API.

- ``adapter``: makes the body of a request, sends it and maps errors.
- ``batch``: sends batches as files, finds them again and reads their results.
- ``models``: leaves out of the list of models what does not chat: embeddings, speech, pictures.
- ``stream``: adds the events of a stream up to deltas and output items.
- ``validate``: says what makes a stored list of items invalid.

What both of OpenAI's APIs share is in ``openai_chat``.
"""

from studio.providers.descriptor import Probe, ProviderDescriptor

PROVIDER = ProviderDescriptor(
    name="openai",
    title="OpenAI",
    adapter="studio.providers.openai.adapter:OpenAIProvider",
    key_variables=("OPENAI_API_KEY",),
    key_hint="sk-…",
    key_prefixes=("sk-proj-", "sk-"),
    address="https://api.openai.com/v1",
    address_variable="OPENAI_BASE_URL",
    probe=Probe("/v1", "authorization", "Bearer "),
    price_table="openai",
)
