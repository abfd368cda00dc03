"""The files that name hooks, and what the person said of each hook (K-8, K-9).

- ``hook_file``: Reads a file of hooks, and says of each what of it is not run here.
- ``consents``: Keeps which hooks the person approved, and what these were.
- ``finder``: Finds the hooks that count in a folder.
- ``importing``: Takes hooks over from the settings of Claude Code.
- ``trial``: Runs one hook to see what it says.
"""
