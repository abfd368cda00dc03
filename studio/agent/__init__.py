"""One agent and its loop.

- ``agent_files``: Agents are markdown files.
- ``attachments``: What the person attaches, as blocks that go to the model (H-2).
- ``audit_export``: The audit as a file.
- ``bootstrap``: Makes the pieces of a studio and puts them together.
- ``changes``: To be described.
- ``context``: What of a conversation the model gets.
- ``demo_provider``: The demo provider.
- ``engine``: Everything a door needs, in one hand.
- ``limits``: What may be used.
- ``loop``: To be described.
- ``permission``: Permission, a wrapper around the tools.
- ``provider_factory``: Providers by name, made from settings, keys and the environment.
- ``retry_policy``: How long a provider is waited for, and how often it is asked again (L-12).
- ``sandbox_probe``: The sandbox that commands run in, as the person wants it.
- ``session``: To be described.
- ``telemetry``: OpenTelemetry spans of turns, requests and tools, with the GenAI names (L-15).
- ``usage_accounting``: The accounts of this program.
- ``usage_costs``: What requests used and cost, added up.
"""
