"""Doctor.

- ``display``: Whether the window can open.
- ``finding``: What a check finds.
- ``local_checks``: What the doctor looks at on this computer.
- ``network_checks``: What the doctor looks at outside the program.
"""
