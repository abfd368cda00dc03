"""The settings window.

- ``registry``: Lists the pages, one line for each, and holds what pages work with.
- ``dialog``: The window: the list of pages at the left, the chosen page at the right; saves.
- ``pages``: The pages and their rows.
- ``servers``: The parts of the page about MCP servers.
- ``form``: Base class of a page, and the cards of rows that pages consist of.
- ``rows``: Cards of rows with lines between them, and the icon at the beginning of such a row.
- ``amount_field``: Fields for amounts with a unit, such as “5 steps” and “$5.00”.
- ``key_row``: A row in which a provider's API key is shown masked, entered, replaced and removed.
- ``bars``: Bars that show shares of a whole, with a legend.
- ``chats_dialog``: A dialog in which a person ticks chats.
- ``font_dialog``: A dialog in which a person chooses one of the fonts of the computer.
"""
