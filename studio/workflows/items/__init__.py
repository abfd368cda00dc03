"""Many items: what a step does once for each of up to 100,000 values (W-53 to W-57).

Those of a ``for_each`` with up to 50 values are steps of the run, see ``plan`` above.

- ``sources``: Reads the values of a step as they come, from lists, folders and files of rows.
- ``item_work``: Puts the items of a step into their table, has them worked on, and brings their
  results to later steps; shows what they ask, one question at a time.
- ``shift``: Works on the items of a step side by side, as many as ``agent.parallelism``
  finds that the provider takes; takes up those that have no result after a crash, tries failed
  ones again, stores results.
- ``answerer``: Asks a model about one item, without a session.
- ``batches``: Has a provider work on items as batches, and finds these again after a crash.
- ``estimate``: Tells from a sample what all items will cost, and asks the person.
- ``results``: Writes results as CSV and JSONL, and names the kinds of failures.
"""
