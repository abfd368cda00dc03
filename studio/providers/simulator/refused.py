"""How a rule says no."""

from __future__ import annotations


class RequestRefused(Exception):
    """A request broke a rule. ``str()`` is the provider's own text.

    ``rule`` is the kind of rule, ``name`` the one rule of a surface's table.
    """

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.name = rule
        self.status = status
        self.param = param
        self.code = code
