"""Environment: cleans that of child processes of keys, tokens and passwords (P-4)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache

from studio.domain.secret_names import names_need, names_secret

_LONG = 8
"""Characters from which on a value is looked for in other variables."""


def child_environment(
    environment: Mapping[str, str] | None = None, *, secrets: Iterable[str] = ()
) -> dict[str, str]:
    """The environment for child processes: without keys, tokens, passwords.

    A variable is left out if it has a secret's name (see ``secret_names``), the
    value of one that has, or one of ``secrets`` in it, or what is a secret by its
    form: an address with a password, a well-known service's key. What no program
    can do without, such as ``PATH``, is judged by ``secrets`` alone.
    """
    source = os.environ if environment is None else environment
    keys = [key for key in secrets if len(key) >= _LONG]
    named = {value for name, value in source.items() if _names_secret(name) and len(value) >= _LONG}
    return {
        name: value
        for name, value in source.items()
        if not any(key in value for key in keys)
        and (
            _names_need(name) or not (_names_secret(name) or value in named or _holds_secret(value))
        )
    }


class EnvironmentOnDemand(Mapping[str, str]):
    """An environment that is made when it is first read: most calls start no program."""

    def __init__(self, make: Callable[[], Mapping[str, str]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, str]:
        return self._make()

    def __getitem__(self, name: str) -> str:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


# Cached, as the variables are the same every time.
_names_need = lru_cache(maxsize=1024)(names_need)
_names_secret = lru_cache(maxsize=1024)(names_secret)


@lru_cache(maxsize=1024)
def _holds_secret(value: str) -> bool:
    from studio.domain.redaction import holds_secret  # its patterns are not needed for a window

    return holds_secret(value)
