"""The settings window."""

from .dialog import SettingsDialog

__all__ = ["SettingsDialog"]
