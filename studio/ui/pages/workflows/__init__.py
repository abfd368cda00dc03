"""The Workflows page: the files at the left, the text of the chosen one beside its graph (W-61).

- ``page``: Shows the chosen workflow as text and graph, saves it, and starts its runs.
- ``workflow_rows``: Lists the files of workflows by where they are from.
- ``workflow_graph``: Makes the graph of a workflow's text, and finds its steps in the text; free of
  Qt.
- ``canvas_edits``: Makes what is done to steps in the graph changes of the text.
- ``step_properties``: The values of the chosen step, below the graph.
- ``run_form``: Asks for the inputs of a run.
- ``trigger_strip``: Shows what begins runs of the file by itself, and switches it.
- ``run_graph``: Makes the graph of a run, each step with its state; free of Qt.
- ``nested_graph``: Puts the graphs of steps that are workflows inside of their nodes; free of Qt.
- ``files_below``: Reads the workflows that steps run, as their files are now; free of Qt.
- ``runs``: Shows a run, and those before it.
- ``evals``: Shows two variants of an eval side by side.
- ``problem_texts``: Has the problems of workflow files in the person's language; free of Qt.
"""
