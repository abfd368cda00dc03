"""Height index: sums many heights that change one at a time (a Fenwick tree)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


class HeightIndex:
    """Heights in pixels; every question takes O(log n), a splice in the middle O(n)."""

    def __init__(self, values: Iterable[float] = ()) -> None:
        self.values = list(values)
        """To be read alone, where many are read in a row."""
        self.total = 0.0
        self._rebuild()

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[float]:
        return iter(self.values)

    def __getitem__(self, index: int) -> float:
        return self.values[index]

    def above(self, index: int) -> float:
        """The sum of all heights before ``index``: where it begins."""
        tree, total = self._tree, 0.0
        while index > 0:
            total += tree[index]
            index &= index - 1
        return total

    def set(self, index: int, value: float) -> float:
        """Change one height; returns by how much."""
        change = value - self.values[index]
        if change:
            self.values[index] = value
            tree, size = self._tree, len(self._tree)
            at = index + 1
            while at < size:
                tree[at] += change
                at += at & -at
            self.total = self.above(size - 1)
        return change

    def append(self, value: float) -> None:
        self.values.append(value)
        at = len(self.values)
        # The new node covers the last (at & -at) values.
        self._tree.append(value + self.above(at - 1) - self.above(at & (at - 1)))
        self.total = self.above(at)

    def splice(self, start: int, end: int, values: Sequence[float]) -> None:
        """Replace ``[start:end]``."""
        if end == len(self.values) and len(values) < 64:
            # Dropping from the end leaves every earlier node as it is.
            del self.values[start:]
            del self._tree[start + 1 :]
            self.total = self.above(start)
            for value in values:
                self.append(value)
            return
        self.values[start:end] = values
        self._rebuild()

    def find(self, y: float) -> int:
        """The index whose span holds ``y``; the nearest one outside; 0 when empty."""
        at, left = 0, y
        step = 1 << (len(self.values).bit_length() - 1) if self.values else 0
        tree, size = self._tree, len(self.values)
        while step:
            ahead = at + step
            if ahead <= size and tree[ahead] <= left:
                at = ahead
                left -= tree[ahead]
            step >>= 1
        return max(0, min(at, size - 1))

    def _rebuild(self) -> None:
        size = len(self.values)
        tree = [0.0, *self.values]
        for at in range(1, size + 1):
            parent = at + (at & -at)
            if parent <= size:
                tree[parent] += tree[at]
        self._tree = tree
        self.total = self.above(size)
