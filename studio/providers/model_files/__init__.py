"""Model files on this computer: finds, fetches, checks and deletes GGUF files.

They belong to this room, beside the built-in model's engine that runs them: where files come
from is the outside world, as providers are. Nothing here knows settings or a window.

- ``hub``: searches Hugging Face for models, and reads the list of recommended ones.
- ``downloads``: runs downloads, and tells how far they are and why they stopped.
- ``fetch``: the child process of one download.
- ``folder``: lists and deletes the files of a folder, whole ones and begun ones.
- ``gguf``: reads what a GGUF file says of its model.
- ``fit``: tells how well a model fits this computer's memory.
"""

TOKEN = "huggingface"
"""The name of the person's token of Hugging Face in the keychain."""
TOKEN_VARIABLES = ("HF_TOKEN",)
