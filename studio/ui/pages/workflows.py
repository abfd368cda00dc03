"""The Workflows page: it says that workflows come with a later version."""

from __future__ import annotations

from .page import ListPage


class WorkflowsPage(ListPage):
    """A title and a line of text."""

    def open(self, *target: str) -> None:
        text = "Many agents on one task. They come with a later version."
        self.show_rows("Workflows", text, [])
