"""Pages of the settings window. Each has a line in ``settings/registry.py``.

- ``general``: Language, defaults of new chats, limits, routing and traces.
- ``general_desktop``: Links and the quick question, on the General page.
- ``general_limits``: Limits of turns, and the target of traces, on the General page.
- ``appearance``: Theme, accent, fonts, text size, density, contrast and motion, with a sample.
- ``budgets``: Caps of tokens and money, and what was spent (L-14).
- ``providers``: Keys, addresses and models of each provider.
- ``provider_rows``: Header, failure, model file and model download of a provider's section.
- ``provider_models``: The list of one provider's models, each with a check box.
- ``local_models``: Models on this computer: installed, on their way, and found on the hub.
- ``local_model_rows``: The rows of these models and downloads.
- ``servers``: MCP servers: all of them, one of them, and adding one (M-12, M-23).
- ``permissions``: Mode, sandbox, trusted folders, and what tools may do without asking (T-7).
- ``permission_rules``: The list of permission rules, and a field that tests them.
- ``shortcuts``: The key of each action, recorded in its row.
- ``data``: Where data lies, export, import with a preview, deletion.
- ``about``: Versions, licences of what ships, and facts for a bug report.
- ``skills``: The skills of the folder and the person, each with a switch.
- ``pack_skills``: A row for the skills of a pack, with one switch for all.
- ``hooks``: The hooks of the folder, the person and packs, each with a switch that approves it.
- ``packs``: Packs, each with its switch and those of its parts.
- ``pack_rows``: A row for each pack, with what it brings and what an update may newly do.
- ``pack_offer``: What a pack brings, with switches, also before it is installed (X-2).
- ``web``: Search engine, what may be fetched, and what is masked (T-8, T-9).
- ``server``: The server for other programs: address, token and rules of its clients (S-3, S-4).
"""
