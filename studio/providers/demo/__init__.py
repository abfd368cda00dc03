"""The demo: a simulated provider inside this program, over real HTTP on loopback.

- ``adapter``: speaks Chat Completions with the simulator that ``agent.bootstrap`` starts.
"""

from studio.providers.descriptor import ProviderDescriptor

PROVIDER = ProviderDescriptor(
    name="simulator", title="Demo", ready=True, local=True, in_settings=False, key="none"
)
