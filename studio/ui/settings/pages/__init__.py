"""Pages.

- ``general``: The General page.
- ``permissions``: The Permissions page.
- ``server``: The Server page.
- ``web``: The Web page.
"""
