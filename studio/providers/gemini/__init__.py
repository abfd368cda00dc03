"""Gemini: Google's generateContent API.

- ``adapter``: makes the body of a request, sends it and maps errors; schemas of tools come here
  fitted already, by ``studio.mcp.schemas``.
- ``batch``: sends batches inline or as files, finds them again and reads their results.
- ``stream``: adds the chunks of a stream up to deltas and one model content, with the thought
  signatures as they came.
- ``validate``: prepares a history for the request, signs calls that have no signature, and says
  what makes one invalid.
- ``models``: decides which parameters a Gemini model takes.
"""

from studio.providers.descriptor import Probe, ProviderDescriptor

PROVIDER = ProviderDescriptor(
    name="gemini",
    title="Gemini",
    adapter="studio.providers.gemini.adapter:GeminiProvider",
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    key_hint="AIza…",
    key_prefixes=("AIza", "AQ."),
    address="https://generativelanguage.googleapis.com",
    address_variable="GOOGLE_GEMINI_BASE_URL",
    probe=Probe("/v1beta", "x-goog-api-key"),
    price_table="google",
    telemetry_name="gcp.gemini",
)
