"""Runs of workflows: watched live, looked at later, and stopped for a look inside (W-64 to W-66).

- ``live_runs``: Begins runs and goes on with stored ones; pauses, stops, answers, steers and
  deletes them, and sets their caps and breakpoints.
- ``run_view``: The page of a run: head, graph and inspector, and which run is shown; its keys.
- ``lower_panes``: What is below the graph: timeline, event log, ledger or items; exports results.
- ``run_record``: Makes what is shown of a run's events.
- ``runs_below``: What is known of the runs of its steps, and what of them is unfolded; free of Qt.
- ``run_inspector``: The three tabs at the right: ``run_tab``, ``step_tab`` and ``history_tab``.
- ``step_facts``: What is known of a chosen step or item; free of Qt.
- ``question_card``: Asks the person what a step asks.
- ``changes_list``: What the steps changed, and what of it can be approved.
- ``compare_view``: Two runs side by side. ``compare_facts`` has it in words; free of Qt.
- ``lanes``: Who worked when, as bars; free of Qt. ``timeline`` paints them.
- ``log_rows``: What happened, in words; free of Qt. ``event_log`` lists and filters it.
- ``ledger_rows``: What a mission did, in words; free of Qt. ``ledger`` lists it.
- ``mission_part``: The cycle and the checks of a mission, and what the person says to it.
- ``items_table``: How far many items of a step are, what failed, and the newest results.
- ``letter_list``: A list that leaves letters to the keys of its page.
"""
