"""The settings window.

- ``registry``: Lists the pages, one line for each, and says what pages work with.
- ``dialog``: The settings window: the list of pages at the left, the chosen page at the right.
- ``page_list``: The list of pages.
- ``pages``: The pages.
- ``form``: Base class of a page, and the cards of rows that pages consist of.
- ``limit_rows``: Rows for limits of turns and cost, and for where traces go (L-11, L-14, L-15).
- ``key_row``: A row in which one provider's key is shown masked, typed, kept and removed.
- ``provider_section``: One provider on the Providers page: head, key, address, models.
- ``provider_rows``: Rows of a provider's section, the download of a model among them.
- ``provider_meta``: Titles, icons and key formats of the providers; writes facts about models.
- ``model_list``: A list of one provider's models, each with a check box.
- ``rule_list``: Lists the permission rules; rules are added, changed and removed in it.
- ``rule_tester``: Shows what the rules would decide about a call that is typed.
- ``client_rules``: Lists the rules for clients of the server.
- ``tasks``: Runs the coroutines of the settings window.
"""
