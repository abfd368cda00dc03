"""Muster: templates in Word that are filled from an Akte (KZ-33).

- ``fields``: What is known of an Akte, by the names of fields.
- ``filling``: Fills a template, in a sandbox; a field that is not known is never left blank.
"""
