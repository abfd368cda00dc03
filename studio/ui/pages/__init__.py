"""Pages.

- ``agents``: Agents and workflows, as lists.
- ``audit``: Every call of a tool, newest first.
- ``drafts``: The page of drafts.
- ``first_run``: The first page.
"""
