"""Local model.

- ``adapter``: The built-in model.
- ``process``: The built-in model's child process.
- ``prompt``: How a request is put to a model of 135 million parameters.
- ``server``: What the built-in model's child process runs.
"""
