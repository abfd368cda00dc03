"""Many items: what a step does once for each of up to 100,000 values (W-53 to W-57).

- ``sources``: Reads the values of a step as they come, from lists, folders and files of rows.
- ``answerer``: Asks a model about one item, without a session.
- ``estimate``: Tells from a sample what all items will cost, and asks the person.
- ``shift``: Works on the items of a step, as many at a time as the provider takes.
- ``item_work``: The items of the steps of one run, from where they are found to their results.
- ``batches``: Has a provider work on items as batches, and finds these again after a crash.
- ``results``: Writes results as CSV and JSONL, and names the kinds of failures.
"""
