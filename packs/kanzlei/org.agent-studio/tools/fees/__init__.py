"""Fees: computes lawyers' and court fees by the RVG and the GKG, to the cent (KZ-23, KZ-24, KZ-26).

- ``bill``: All fees of an assignment, by matter, with what is credited, costs and VAT.
- ``costs``: Paper, travel, postage: costs with a rate of their own; free positions.
- ``interest``: Default interest, half-year by half-year.
- ``note``: A bill as a Kostennote has to have it (§ 10 II RVG).
- ``positions``: The numbers that are known, and why others are refused.
- ``reading``: Makes positions of what somebody wrote.
- ``tables``: One full fee by value, of each table and day.
"""
