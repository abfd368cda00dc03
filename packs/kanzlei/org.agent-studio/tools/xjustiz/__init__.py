"""XJustiz: the messages that courts and lawyers exchange, as files beside their documents (KZ-34).

Elements and code lists are from the schemas of the standard, 3.5.1 and 3.6.2. No message of this
program was given to a court's system: what is written says that it is unchecked.

- ``codes``: What the numbers of the code lists stand for.
- ``reading``: Reads a message, of any kind and version.
- ``writing``: Writes the message of a Versandmappe.
"""
