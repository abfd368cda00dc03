"""Providers and models: what a name stands for, and who answers it.

- ``names``: Finds the provider and the model that a name stands for.
- ``family``: Tells by a model's name how it is spoken to, and how it edits and reads.
- ``provider_factory``: Makes providers from the settings, the keys and the environment.
- ``local_models``: Fetches, lists and deletes model files of this computer.
"""
