"""Anthropic: the Messages API.

- ``adapter``: makes the body of a request, with the mark for the prompt cache; sends it and maps
  errors.
- ``batch``: sends Message Batches, finds them again and reads their results.
- ``stream``: adds the events of a stream up to deltas and one assistant message, with thinking
  and its signature as they came, which so go back with the next request.
- ``validate``: puts a history in the order of the request, and says what makes one invalid.
- ``models``: decides which parameters a Claude model takes.
"""

from studio.providers.descriptor import Probe, ProviderDescriptor

PROVIDER = ProviderDescriptor(
    name="anthropic",
    title="Anthropic",
    adapter="studio.providers.anthropic.adapter:AnthropicProvider",
    key_variables=("ANTHROPIC_API_KEY",),
    key_hint="sk-ant-…",
    key_prefixes=("sk-ant-",),
    address="https://api.anthropic.com",
    address_variable="ANTHROPIC_BASE_URL",
    probe=Probe("/v1", "x-api-key", headers={"anthropic-version": "2023-06-01"}),
    price_table="anthropic",
)
