"""Law: the texts of laws and decisions, found by words and by citation.

- ``check``: Whether what a text cites is in the store, and quoted as it is there.
- ``citations``: Citations of norms in a text, and their addresses.
- ``decisions``: Citations of decisions in a text.
- ``fetching``: Takes laws and decisions from two sites that publish them, and one that collects.
- ``files``: The laws or decisions of a file, a zip or a folder, one after the other.
- ``judgment``: One decision from the XML of rechtsprechung-im-internet.de.
- ``laws``: One law from the XML of gesetze-im-internet.de.
- ``normen``: The store: wordings by day, and the search.
- ``openlegaldata``: One decision from the JSON of de.openlegaldata.io, which is not official.
- ``urteile``: The store of decisions, and their search.
- ``verzeichnis``: The list of all decisions of rechtsprechung-im-internet.de.
- ``words``: Stems, and the parts of compounds.
"""
