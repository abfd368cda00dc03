"""Law: the texts of laws, found by words and by citation.

- ``check``: Whether what a text cites is in the store, and quoted as it is there.
- ``citations``: Citations of norms in a text, and their addresses.
- ``decisions``: Citations of decisions in a text.
- ``files``: The laws of a file, a zip or a folder, one after the other.
- ``laws``: One law from the XML of gesetze-im-internet.de.
- ``normen``: The store: wordings by day, and the search.
- ``words``: Stems, and the parts of compounds.
"""
