"""Remote approvals.

- ``card``: A permission question of another program, above whatever page is shown (T-7).
- ``controller``: What other programs at the same data do.
"""
