"""Pages in the middle of the window, beside the chat.

- ``registry``: Lists the pages, one line for each: title, icon, shortcut and menu.
- ``page``: Base classes: a page, and a page that is a list of cards.
- ``needs``: Lists everything that waits for the person, and takes the answers.
- ``files``: What the pages share on which markdown files are edited.
- ``agents``: Shows the agents and their files, to change, try, copy and delete them.
- ``workflows``: Shows workflows as text and graph, and runs them.
- ``drafts``: Shows the drafts of all chats, to approve, edit or discard them.
- ``memory``: Shows the notes of agents, to keep, edit, merge and drop them.
- ``pack_page``: Draws a page that a pack declares: list, one record, form and actions (X-7).
- ``widget_page``: Loads a page by widgets of a pack, and shows what it raises (KZ-9).
- ``audit``: Lists every call of a tool, with filters and export.
- ``search``: Searches everything in all chats, and opens a chat at the hit.
- ``first_run``: Asks at the first start what agents run on. It is not in the registry.
"""
