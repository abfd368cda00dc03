"""Workspace.

- ``folder``: The folder an agent works in, and the way in and out of it (T-8).
- ``glob_pattern``: Glob patterns over relative paths with forward slashes.
- ``grep``: Searching in files.
- ``images``: Pictures as models take them.
- ``notes``: Notes that agents keep about a folder.
- ``pdf``: Words of PDF files.
- ``text_files``: Files as text.
"""
