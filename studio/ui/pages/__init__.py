"""Pages in the middle of the window, beside the chat.

- ``registry``: Lists the pages, one line for each: title, icon, shortcut and menu.
- ``page``: Base classes: a page, and a page that is a list of cards.
- ``start_form``: The base of the forms of a run and of a mission.
- ``list_detail``: The base of the pages of drafts and notes: a list, the chosen one beside it.
- ``needs``: Lists everything that waits for the person, and takes the answers.
- ``agents``: Shows the agents and their files, to change, try, copy and delete them.
- ``workflows``: Shows workflows as text and graph; runs them, and shows their runs.
- ``files``: List, editor and saving of files, which the pages of agents and workflows share.
- ``drafts``: Shows the drafts of all chats, to approve, edit or discard them.
- ``memory``: Shows the notes of agents, to keep, edit, merge and drop them.
- ``search``: Searches everything in all chats, and opens a chat at the hit.
- ``audit``: Lists every call of a tool, with filters and export.
- ``pack_page``: A page that a pack only declares: list, one record, form and actions (X-7).
- ``widget_page``: A page by widgets of a pack: loads its code, and shows what it raises (KZ-9).
- ``first_run``: Asks at the first start what agents run on. It is not in the registry.
"""
