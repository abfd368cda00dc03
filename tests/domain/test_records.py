"""Data classes that make their methods late are those of the standard library in all else."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field
from typing import Any, ClassVar

import pytest

from studio.domain import records


def _classes(dataclass: Any) -> list[type[Any]]:
    """The same classes, made by one of the two."""

    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)
        seen: int = field(default=0, compare=False, repr=False)
        kind: ClassVar[str] = "point"

    @dataclass(frozen=True, slots=True)
    class Deep(Point):
        z: int = field(default=9, kw_only=True)

        def __post_init__(self) -> None:
            if self.z < 0:
                raise ValueError(self.z)

    @dataclass(slots=True)
    class Counter:
        count: int = 0
        made: list[int] = field(init=False, default_factory=list)
        fixed: int = field(init=False, default=7)

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        first: str
        last: str = ""

        def __repr__(self) -> str:
            return "someone"

    @dataclass(eq=False, slots=True)
    class Apart:
        x: int = 1

    @dataclass(frozen=True)
    class Own:
        x: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.x.lower() == other.x.lower()

        def __hash__(self) -> int:
            return 5

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    return [Point, Deep, Counter, Named, Apart, Own, Empty]


def _tried(cls: type[Any]) -> list[Any]:
    """What becomes of each use: a value, or the error."""
    found: list[Any] = []

    def note(do: Any) -> Any:
        try:
            done = do()
        except Exception as error:
            found.append((type(error), str(error)))
            return None
        found.append(repr(done).replace(hex(id(done)), ""))
        return done

    made = []
    for given, named in (
        ((), {}), ((1,), {}), ((1, 3), {"tags": ["a"]}), ((1, 2, [], 4), {}), ((1, 2, 3, 4, 5), {}),
        ((), {"first": "A"}), ((), {"first": "A", "last": "B"}), ((1,), {"z": -1}), ((1,), {"z": 4}),
        (("A",), {}), ((3,), {"nothing": 1}),
    ):  # fmt: skip
        one = note(lambda given=given, named=named: cls(*given, **named))
        if isinstance(one, cls):
            made.append(one)
    for one in made:
        note(lambda one=one: [one == other for other in [*made, 1]])
        note(lambda one=one: one.__eq__(1))
        note(lambda one=one: hash(one) == hash(copy.copy(one)))
        note(lambda one=one: dataclasses.asdict(one))
        note(lambda one=one: dataclasses.replace(one, x=5))
        note(lambda one=one: copy.deepcopy(one) == one)
        for name in cls.__match_args__:  # of other names 3.11 tells a fault of its own
            note(lambda one=one, name=name: setattr(copy.copy(one), name, 7))
            note(lambda one=one, name=name: delattr(copy.copy(one), name))
        note(lambda one=one: one)
    found.append([(one.name, one.kw_only, one.init) for one in dataclasses.fields(cls)])
    found.append([cls.__match_args__, hasattr(cls, "__slots__"), cls.__hash__ is None])
    return found


@pytest.mark.parametrize("at", range(7))
def test_it_does_as_the_standard_librarys(at: int) -> None:
    ours, theirs = (_tried(_classes(one)[at]) for one in (records.dataclass, dataclasses.dataclass))
    assert ours == theirs


@records.dataclass(frozen=True, slots=True)
class Kept:
    x: int
    inner: tuple[Kept, ...] = ()


def test_it_is_pickled_and_compiled_with_the_first_instance() -> None:
    late = Kept.__init__
    one = Kept(1, (Kept(2),))
    assert Kept.__init__ is not late and Kept.__init__.__code__.co_varnames[:2] == ("self", "x")
    assert pickle.loads(pickle.dumps(one)) == one
    match one:
        case Kept(x, (Kept(y),)):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("no match")


def test_it_has_its_fields_where_annotations_are_no_texts() -> None:
    """Python 3.14 keeps them elsewhere then, and classes lost all of their fields."""
    named: dict[str, Any] = {"dataclass": records.dataclass}
    text = "@dataclass(frozen=True, slots=True)\nclass Point:\n    x: int\n    y: str = 'a'\n"
    exec(compile(text, "point", "exec", dont_inherit=True), named)
    assert [one.name for one in dataclasses.fields(named["Point"])] == ["x", "y"]
    assert named["Point"](1) == named["Point"](1, "a")
