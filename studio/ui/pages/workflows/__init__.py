"""The Workflows page: the files at the left, the text of the chosen one beside its graph (W-61).

- ``page``: Shows the chosen workflow as text and graph, saves it, starts runs and tells of them.
- ``workflow_rows``: The rows of the list of files, by where they are from; free of Qt.
- ``workflow_graph``: Makes the graph of a workflow's text, and finds its steps in the text; free of
  Qt.
- ``canvas_edits``: Adds, connects, renames and removes steps in the graph, as changes of the text.
- ``step_properties``: Fields for the values of the chosen step, below the graph.
- ``run_form``: The form for the inputs of a run.
- ``trigger_strip``: Shows which schedules and changes of files begin runs, with their switch.
- ``run_graph``: Makes the graph of a run, each step with its state; free of Qt.
- ``nested_graph``: Puts the graphs of steps that are workflows inside of their nodes; free of Qt.
- ``files_below``: Reads the workflows that steps run, as their files are now; free of Qt.
- ``runs``: Carries runs out, and shows one of them and those before it.
- ``evals``: Shows two variants of an eval side by side.
- ``problem_texts``: The problems of workflow files in the person's language; free of Qt.
"""
