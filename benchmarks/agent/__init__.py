"""Measures how well an agent works: thirty tasks with hidden checks (C-27).

    python -m benchmarks.agent --provider anthropic --model claude-sonnet-5 --budget 20

- ``task``: reads a task: text, files, check, solution, and attempts that are wrong.
- ``trial``: gives a task to ``agent-studio run`` in a fresh folder, and checks what came of it.
- ``report``: adds trials up: how many passed, with an interval, and what they cost.
- ``scripted``: plays a task's solution or a wrong attempt as a simulated model would.
- ``economy``: compares what ten recorded tasks cost in tokens, before and after a change.
- ``harbor``: runs the program on the tasks of Harbor, such as Terminal-Bench.
- ``__main__``: the command.
"""
