"""Evals: measure agents, models and prompts on cases (W-58).

What has to be asked runs as ordinary runs of workflows: first the answers, then the commands and
the agents that judge these. Each answer and each verdict goes into a record by the digest of all
that it is made from, and nothing that is there is asked again.

- ``eval_file``: Reads ``evals/*.md``, and finds these files.
- ``cells``: Tells what each cell is made from, and makes the runs that fill the record.
- ``graders``: Grades an answer where nobody has to be asked.
- ``figures``: Rates with intervals, flipped cases and verdicts.
- ``cost_estimate``: What the answers that are asked will cost, from what others did.
- ``export``: Writes what an eval came to as CSV and JSON lines.
- ``eval_runs``: Runs evals, and finds those that ran.
"""
