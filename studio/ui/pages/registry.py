"""The registry of the pages in the middle of the window: one line for each.

A page's line puts it into the sidebar and into the menu, with its shortcut. Its
module is imported when the page is first shown, so that the window opens fast.
``docs/extending/window_page.md`` shows how to add one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from studio.domain.records import dataclass
from studio.ui.translation import tr_later

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.ui.theme import Theme

    from .page import Page, Run


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One page: ``source`` is its module and class, ``icon`` the name of a drawing.

    ``menu`` is the menu with its action and ``keys`` the shortcut of that action; a page without
    a menu is shown by an action of ``actions``, or from the sidebar.
    """

    key: str
    title: str
    icon: str
    source: str
    keys: str = ""
    menu: Literal["", "Run", "Window"] = "Window"
    in_sidebar: bool = True

    def load(self) -> Callable[[Theme, Engine, Run], Page]:
        """Imports the page's module and returns its class."""
        from pkgutil import resolve_name

        return resolve_name(f"studio.ui.pages.{self.source}")


PAGES: tuple[PageEntry, ...] = (
    PageEntry(
        "needs",
        tr_later("Needs you"),
        "shield-question-mark",
        "needs.page:NeedsPage",
        menu="",
        in_sidebar=False,
    ),
    PageEntry("agents", tr_later("Agents"), "bot", "agents.page:AgentsPage", "Ctrl+2"),
    PageEntry(
        "workflows", tr_later("Workflows"), "workflow", "workflows.page:WorkflowsPage", "Ctrl+3"
    ),
    PageEntry("drafts", tr_later("Drafts"), "inbox", "drafts.page:DraftsPage", "Ctrl+4"),
    PageEntry("memory", tr_later("Memory"), "notebook-tabs", "memory.page:MemoryPage", "Ctrl+5"),
    PageEntry(
        "search",
        tr_later("Search chats"),
        "search",
        "search.page:SearchPage",
        menu="",
        in_sidebar=False,
    ),
    PageEntry("audit", tr_later("Audit"), "list", "audit:AuditPage", menu="Run", in_sidebar=False),
)
