"""Other shared views of the same data: what their readers know, so that a new view adds nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from audit.disclosure import Earlier, Shown, looser

NumberId: TypeAlias = tuple[str, tuple[str, ...], str]
"""Where a number stands: id of the finding, nodes of the line (empty: of the finding), name."""
DENOMINATOR = "denominator"
"""Name of the number of a check, whose name stands for the id of a finding."""


@dataclass(frozen=True)
class OtherViews:
    """What readers know of a release from shared views of it under other policies.

    Args:
        counts: Counts of nodes and pairs, with the ranges that the views leave.
        numbers: Further counts that the views tell, by their place: the count, and as it reads.
    """

    counts: Earlier
    numbers: Mapping[NumberId, tuple[int, Shown]]

    @classmethod
    def of(cls, counts: Earlier, numbers: Mapping[str, Any]) -> OtherViews:
        """Inverse of ``counts`` and `numbers_as_json`."""
        rows = numbers["numbers"]
        return cls(
            counts,
            {
                (row["of"], tuple(row["nodes"]), row["name"]): (row["n"], row["told"])
                for row in rows
            },
        )

    def numbers_as_json(self) -> dict[str, Any]:
        """The numbers as plain data, an object each."""
        rows = (
            {"of": of, "nodes": list(nodes), "name": name, "n": n, "told": told}
            for (of, nodes, name), (n, told) in self.numbers.items()
        )
        return {"numbers": list(rows)}

    def beside(self, other: OtherViews) -> OtherViews:
        """What whoever has these and other views knows."""
        numbers = dict(self.numbers)
        for place, (value, told) in other.numbers.items():
            before = numbers.get(place)
            if before is None or looser(before[1], told) == before[1]:
                numbers[place] = value, told
        return OtherViews(self.counts.beside(other.counts), numbers)

    def no_finer(self, place: NumberId, value: Any, told: Shown) -> Shown:
        """A number as it may be shown: told no finer than the views tell it, if they do."""
        known = self.numbers.get(place)
        return told if known is None or known[0] != value else looser(told, known[1])
