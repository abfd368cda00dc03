"""Masking: hides who and what an Akte is about from a provider, reversibly (KZ-43).

It makes the risk less; it makes nobody anonymous: who knows the facts may know the person.

- ``folding``: Folds a text so that Müller, MÜLLER, Mueller and M&uuml;ller are the same.
- ``common``: Names that are words too, and where they are names.
- ``known``: Whom and what an Akte knows: people, firms, numbers, addresses.
- ``finding``: Finds them in a text, in every form, also inflected, and numbers and addresses
  by how they look.
- ``lone``: Finds somebody by their last name alone, where it stands as a name.
- ``mask``: Puts placeholders for them that stay the same, and words for placeholders.
"""
