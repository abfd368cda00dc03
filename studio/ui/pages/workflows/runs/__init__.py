"""Runs of workflows: watched live, looked at later, and stopped for a look inside (W-64 to W-66).

- ``live_runs``: Begins and resumes runs in this window; pauses, stops, answers, steers and deletes
  them, raises their caps, and sets breakpoints.
- ``run_view``: The page of one run: head, graph, panes and inspector; keys, and which run is shown.
- ``run_head``: The row above it: its name, and the buttons that pause and stop it.
- ``step_menu``: The menu of a step.
- ``lower_panes``: The panes below the graph, by tabs: ``timeline``, ``event_log``, ``ledger`` and
  ``items_table``; reads the items, and exports their results.
- ``timeline``: Paints who worked when, as bars; zooms. ``lanes`` has the bars; free of Qt.
- ``event_log``: Lists and filters what happened. ``log_rows`` has it in words; free of Qt.
- ``ledger``: Lists what a mission did. ``ledger_rows`` has it in words; free of Qt.
- ``items_table``: What of the many items of a step failed, and the newest results in columns.
- ``item_figures``: How far they are, and what is to go, as figures and a bar.
- ``letter_list``: A list that leaves letters to the shortcuts of its page.
- ``run_record``: A run with its workflow, made of its events: state, budget and cost as facts.
- ``runs_below``: What is known of the runs of its steps, and what of them is unfolded; free of Qt.
- ``run_inspector``: The panel at the right, with the three tabs below.
- ``run_tab``: State, budget, the form that raises caps, agents and breakpoints of the run.
- ``pace_chart``: How many items were worked on at a time, as a curve.
- ``step_tab``: One step: prompt, result, and buttons to continue, change and run again.
  ``step_facts`` has what it shows; free of Qt.
- ``worker_facts``: The workers of a run's cluster, their load and their speed; free of Qt.
- ``history_tab``: Lists the runs of a workflow, to open, compare and delete.
- ``question_card``: The question of a step, with the buttons that answer it.
- ``sample_card``: Asks above the items of a step whether the others are to be worked on.
- ``sample_words``: What is said about a sample, and the ways on from it; free of Qt.
- ``changes_list``: What the steps changed in files, and which of it can be approved.
- ``mission_part``: The cycle and the checks of a mission, and the field that steers it.
- ``compare_view``: Two runs side by side. ``compare_facts`` has it in words; free of Qt.
- ``call_pairs``: Paints the calls of a step in both of them, beside each other.
"""
