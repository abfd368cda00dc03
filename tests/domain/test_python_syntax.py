"""Python is parsed beside other threads that parse."""

from __future__ import annotations

import ast
import gc
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from studio.domain.python_syntax import parse_python


class Cycle:
    """Lets other threads run while a tree is made: the collector deletes it there."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(0)


def test_two_threads_at_a_time() -> None:
    text = "x = (a + 1) * [1, (2, 3), {4: 5}][0]\n" * 200
    whole = ast.dump(ast.parse(text))

    def parse(ours: bool) -> bool:
        for _ in range(15):
            for _ in range(30):
                Cycle()
            try:
                tree = parse_python(text) if ours else ast.parse(text)
            except SystemError:
                assert not ours
                continue
            if ast.dump(tree) != whole:
                return False
        return True

    before = gc.get_threshold()
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(parse, (True, False, True, False)))
    finally:
        gc.set_threshold(*before)


def test_what_is_no_python_is_told() -> None:
    with pytest.raises(SyntaxError):
        parse_python("a b")
    with pytest.raises(SyntaxError):
        parse_python("a = 1", "eval")
